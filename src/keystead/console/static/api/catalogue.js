// The operations of this server, from its OpenAPI document: what they are called, what they take.

/**
 * @typedef {object} Operation
 * @property {string} name such as create_wallet
 * @property {string} summary
 * @property {string} subject the group that it belongs to
 * @property {string} activityType of the current version; "" for a query
 * @property {any} parameters JSON Schema of its parameters
 */

/** @type {Promise<any> | undefined} */
let document_;

/** @returns {Promise<any>} */
function openapi() {
  document_ ??= fetch("/openapi.json").then((answer) => {
    if (!answer.ok) throw new Error(`the catalogue of operations was not answered: ${answer.status}`);
    return answer.json();
  });
  document_.catch(() => (document_ = undefined));
  return document_;
}

/** Every operation that makes an activity. @returns {Promise<Operation[]>} */
export async function operations() {
  const { paths } = await openapi();
  return Object.entries(paths).flatMap(([path, item]) => {
    const schema = item.post?.requestBody?.content?.["application/json"]?.schema;
    const version = schema?.oneOf?.[0]?.properties;
    if (!path.startsWith("/public/v1/submit/") || !version) return [];
    const { operationId, summary, tags } = item.post;
    return [{ name: operationId, summary, subject: tags[0], activityType: version.type.const, parameters: version.parameters }];
  });
}

/** All schemas by name. */
export async function schemas() {
  return (await openapi()).components.schemas;
}

/** The schema that a reference names. @param {any} schema @param {Record<string, any>} all @returns {any} */
export function resolvedIn(schema, all) {
  const reference = schema.$ref;
  return reference ? resolvedIn(all[reference.split("/").at(-1)], all) : schema;
}
