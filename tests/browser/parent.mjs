// The parent organization's backend: a client with the root user's API key.
import { Turnkey } from "@turnkey/sdk-server";

export const parent = () =>
  new Turnkey({
    apiBaseUrl: process.env.KEYSTEAD_BASE_URL,
    apiPublicKey: process.env.KEYSTEAD_API_PUBLIC_KEY,
    apiPrivateKey: process.env.KEYSTEAD_API_PRIVATE_KEY,
    defaultOrganizationId: process.env.KEYSTEAD_ORGANIZATION_ID,
  }).apiClient();
