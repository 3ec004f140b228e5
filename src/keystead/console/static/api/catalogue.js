// The operations of this server, from its OpenAPI document: what they are called, what they take.

/**
 * @typedef {object} Operation
 * @property {string} name such as create_wallet
 * @property {string} summary
 * @property {string} subject the group that it belongs to
 * @property {string} activityType of the current version
 * @property {string[]} activityTypes of all versions
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

/** The types of activities that no request submits: the operator of the server does them at its machine. */
export const OF_OPERATOR = ["ACTIVITY_TYPE_RECOVER_ORGANIZATION"];

/** Every operation that makes an activity. @returns {Promise<Operation[]>} */
export async function operations() {
  const { paths } = await openapi();
  return Object.entries(paths).flatMap(([path, item]) => {
    const schema = item.post?.requestBody?.content?.["application/json"]?.schema;
    const versions = (schema?.oneOf ?? []).map((/** @type {any} */ each) => each.properties);
    if (!path.startsWith("/public/v1/submit/") || !versions.length) return [];
    const { operationId, summary, tags } = item.post;
    const activityTypes = versions.map((/** @type {any} */ each) => each.type.const);
    return [{ name: operationId, summary, subject: tags[0], activityType: activityTypes[0], activityTypes, parameters: versions[0].parameters }];
  });
}

/** @typedef {{query: string, member: string, record: any, summary: string}} RecordList `member` of the answer; `record`: its JSON Schema */

/** The queries that list records of the organization and need nothing else to be told. @returns {Promise<RecordList[]>} */
export async function recordLists() {
  const [{ paths }, all] = await Promise.all([openapi(), schemas()]);
  return Object.entries(paths).flatMap(([path, { post }]) => {
    if (!path.startsWith("/public/v1/query/")) return [];
    const asked = resolvedIn(post.requestBody.content["application/json"].schema, all);
    const answered = resolvedIn(post.responses["200"].content["application/json"].schema, all);
    const members = Object.entries(answered.properties ?? {});
    if ((asked.required ?? []).join() !== "organizationId" || members.length !== 1) return [];
    const [member, list] = members[0];
    const record = list.items && resolvedIn(list.items, all);
    return record?.properties ? [{ query: post.operationId, member, record, summary: post.summary }] : [];
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
