#!/bin/sh
# Builds the image from the last commit, starts it beside PostgreSQL as compose.yaml says, sends requests, and removes
# everything again: `make image`. Needs docker or podman with compose, and port 8080.
set -eu

runtime=${RUNTIME:-}
for each in docker podman; do
    [ -n "$runtime" ] || ! command -v "$each" >/dev/null || runtime=$each
done
[ -n "$runtime" ] || { echo "make image: neither docker nor podman is here" >&2; exit 1; }

folder=$(mktemp -d)
compose() {
    BUILDAH_FORMAT=docker "$runtime" compose --project-name keystead-try --file "$folder/deploy/compose.yaml" "$@"
}
finish() {
    status=$?
    [ "$status" = 0 ] || compose logs >&2 || true
    compose down --volumes --timeout 40 || true
    rm -rf "$folder"
    exit "$status"
}
trap finish EXIT

cd "$(dirname "$0")/.."
git archive HEAD | tar -x -C "$folder"
mkdir "$folder/deploy/secrets"
printf %s "only for this try" | sha256sum | cut -c 1-48 >"$folder/deploy/secrets/postgres-password"
printf 'postgresql://keystead:%s@postgres/keystead\n' "$(cat "$folder/deploy/secrets/postgres-password")" \
    >"$folder/deploy/secrets/database-url"
chmod 0644 "$folder"/deploy/secrets/* # the server is another user

compose up --build --detach
tries=60
until curl --silent --fail --noproxy '*' http://127.0.0.1:8080/readyz; do
    tries=$((tries - 1))
    [ "$tries" -gt 0 ] || { echo "the server is not ready after a minute" >&2; exit 1; }
    sleep 1
done
compose exec -T keystead keystead request query/whoami --credentials /var/lib/keystead/root.json
compose exec -T keystead keystead check
echo "The image works."
