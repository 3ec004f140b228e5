#!/usr/bin/env bash
# Starts `keystead dev --memory` for the steps that follow (action.yml), and tells them where it is.
# Reads RUNNER_TEMP, GITHUB_ENV, GITHUB_OUTPUT, ACTION_PORT, ACTION_OPTIONS.
set -euo pipefail

credentials="$RUNNER_TEMP/keystead-credentials.json"
log="$RUNNER_TEMP/keystead.log"
read -r -a options <<< "$ACTION_OPTIONS"

nohup keystead dev --memory --port "$ACTION_PORT" --credentials "$credentials" --log pretty \
    ${options[@]+"${options[@]}"} > "$log" 2>&1 &
server=$!
until [ -e "$credentials" ]; do
    if ! kill -0 "$server" 2> /dev/null; then
        echo "::error::keystead dev did not start"
        cat "$log"
        exit 1
    fi
    sleep 0.1
done

value_of() {
    keystead env --format shell --credentials "$credentials" | sed -n "s/^export $1=//p"
}

echo "::add-mask::$(value_of API_PRIVATE_KEY)"
keystead env --format shell --credentials "$credentials" | sed 's/^export //' >> "$GITHUB_ENV"
{
    echo "base-url=$(value_of BASE_URL)"
    echo "organization-id=$(value_of ORGANIZATION_ID)"
} >> "$GITHUB_OUTPUT"
echo "Keystead answers at $(value_of BASE_URL); its log is $log"
