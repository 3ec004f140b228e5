"""What is in deploy/: each file says what the page and the settings say, and the tools of its kind accept it.

promtool, Caddy and systemd-analyze are used where they are (`make test` unpacks the first two). Without them, the
checks of this module remain.
"""

from __future__ import annotations

import copy
import json
import os
import re
import shlex
import shutil
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest
import typer
import yaml  # type: ignore[import-untyped]

from keystead.cli.main import app
from keystead.server.metrics.measurements import Measurements
from keystead.server.settings.settings import NAMES
from tests.conftest import MakeDatabase
from tests.support.hanging import PATIENCE_S
from tests.support.servers import Server, bootstrap_installation, free_port
from tests.support.source_tree import ROOT

DEPLOY = ROOT / "deploy"
_UNPACKED = Path(sys.prefix) / "operating/usr/bin"


def tool(name: str) -> str | None:
    """The path of a program of this machine, or of one that `make test` unpacked."""
    return shutil.which(name, path=os.pathsep.join([str(_UNPACKED), os.environ.get("PATH", "")]))


def accepted(*command: str | Path, **options: Any) -> str:
    """What a program prints that must end with exit code 0. Returns "" if there is no such program."""
    program = tool(str(command[0]))
    if program is None:
        return ""
    done = subprocess.run([program, *command[1:]], capture_output=True, text=True, timeout=PATIENCE_S, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return f"{done.stdout}{done.stderr}"


# Settings.


def settings_in(text: str) -> set[str]:
    return set(re.findall(r"\bKEYSTEAD_[A-Z0-9_]+", text))


@pytest.mark.parametrize("path", [path for path in DEPLOY.rglob("*") if path.is_file()], ids=lambda path: path.name)
def test_every_setting_exists(path: Path) -> None:
    of_examples = {"KEYSTEAD_SITE", "KEYSTEAD_SERVERS"}
    assert settings_in(path.read_text()) <= NAMES | of_examples


# Metrics, alerts, the dashboard.

ALERTS = DEPLOY / "prometheus" / "keystead-alerts.yml"
DASHBOARD = DEPLOY / "grafana" / "keystead.json"


def expressions() -> Iterator[tuple[str, str]]:
    """Every expression over metrics, with the name of its alert or panel."""
    for group in yaml.safe_load(ALERTS.read_text())["groups"]:
        for rule in group["rules"]:
            yield rule["alert"], rule["expr"]
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"]


def test_every_metric_exists(make_postgres: MakeDatabase, start: Callable[..., Server]) -> None:
    """The names in alerts, dashboard and page are those that a server serves, and the other way around."""
    address = f"127.0.0.1:{free_port()}"
    installation = bootstrap_installation(make_postgres())
    server = start(installation, metrics_address=address)
    server.caller.submitted("create_wallet", {"walletName": "one", "accounts": []})
    url = f"http://{address}/metrics"
    deadline = time.monotonic() + PATIENCE_S
    while "keystead_decisions_total{" not in (text := httpx.get(url, trust_env=False, timeout=PATIENCE_S).text):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    accepted("promtool", "check", "metrics", input=text)
    # A counter with labels is served from its first count on, so those that are declared count as well.
    families = [metric.name.removesuffix("_total") for metric in Measurements().described]
    declared = {*families, *re.findall(r"^# TYPE (\w+?)(?:_total)? ", text, re.MULTILINE)}
    served = {f"{name}{ending}" for name in declared for ending in ("", "_total", "_bucket", "_sum", "_count")}
    for name, expression in expressions():
        used = set(re.findall(r"\bkeystead_\w+", expression))
        assert used <= served, name
    page = (ROOT / "docs" / "reference" / "metrics.md").read_text()
    named = set(re.findall(r"`(keystead_\w+)`", page))
    assert named <= served
    assert declared <= {name.removesuffix("_total") for name in named}
    installation.database.close()


def test_alerts(tmp_path: Path) -> None:
    rules = [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]
    assert len({rule["alert"] for rule in rules}) == len(rules)
    for rule in rules:
        assert rule["labels"]["severity"] in ("page", "ticket")
        assert rule["annotations"].keys() == {"summary", "action"}
    tests = (DEPLOY / "prometheus" / "keystead-alerts-test.yml").read_text()
    assert [rule["alert"] for rule in rules if rule["alert"].removeprefix("Keystead") not in tests] == []
    accepted("promtool", "check", "rules", ALERTS)
    accepted("promtool", "check", "config", DEPLOY / "prometheus" / "prometheus.yml")
    accepted("promtool", "test", "rules", "keystead-alerts-test.yml", cwd=DEPLOY / "prometheus")


def test_the_dashboard_is_whole(tmp_path: Path) -> None:
    """Unique ids, panels that do not overlap, expressions that Prometheus reads."""
    panels = json.loads(DASHBOARD.read_text())["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [
        (panel["gridPos"]["x"] + x, panel["gridPos"]["y"] + y)
        for panel in panels
        for x in range(panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["h"])
    ]
    assert len(set(cells)) == len(cells)
    rules = [{"record": f"panel_{number}", "expr": expr} for number, (_, expr) in enumerate(expressions())]
    as_rules = tmp_path / "dashboard.yml"
    text = yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]})
    as_rules.write_text(text.replace("$instance", ".*"))
    accepted("promtool", "check", "rules", as_rules)


# The container.


def instructions() -> list[tuple[str, str]]:
    text = (DEPLOY / "Containerfile").read_text().replace("\\\n", " ")
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(line.split(None, 1)[0], line.split(None, 1)[1]) for line in lines]


def test_the_container_image() -> None:
    """Not root, a base with its version, nothing fetched but what the lock files name, and files that exist."""
    made = instructions()
    final = made[max(place for place, (name, _) in enumerate(made) if name == "FROM") :]
    assert dict(final)["USER"] == "10001:10001"
    assert re.match(r"BASE=python:3\.\d+-slim\b", dict(made)["ARG"])
    assert {name for name, _ in made} <= {
        "ARG", "FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT",
        "CMD",
    }  # fmt: skip
    for name, value in made:
        if name == "FROM":
            assert value.split()[0] == "${BASE}"
        if name == "COPY" and not value.startswith("--from"):
            assert [source for source in value.split()[:-1] if not (ROOT / source).exists()] == []
        if name == "RUN" and "pip install" in value:
            assert "--require-hashes" in value or "--no-deps" in value
    kept = (DEPLOY / "Containerfile.containerignore").read_text().splitlines()
    copies = [value.split()[:-1] for name, value in made if name == "COPY" and "--from" not in value]
    copied = {source for sources in copies for source in sources}
    assert {f"!{source.removeprefix('./')}" for source in copied} <= set(kept)


def test_the_health_check(sqlite_server: Server) -> None:
    """The command of the image, run: 0 for a server that is ready, another code for none."""
    (text,) = [value for name, value in instructions() if name == "HEALTHCHECK"]
    command = json.loads(text.partition("CMD ")[2])
    assert command[0] == "python"
    for port, is_ready in ((sqlite_server.port, True), (free_port(), False)):
        environment = {"PATH": os.environ["PATH"], "KEYSTEAD_PORT": str(port)}
        done = subprocess.run(
            [sys.executable, *command[1:]], env=environment, capture_output=True, timeout=PATIENCE_S
        )
        assert (done.returncode == 0) is is_ready


def test_the_image_is_installed_as_it_says(tmp_path: Path) -> None:
    """The entry point is a command that exists, with the words of the image and of the manifests."""
    values = dict(instructions())
    assert json.loads(values["ENTRYPOINT"]) == ["keystead"]
    assert json.loads(values["CMD"]) == ["serve"]


def test_compose() -> None:
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    for name in ("init", "keystead"):
        service = services[name]
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert "database-url" in service["secrets"]
    assert services["keystead"]["ports"] == ["127.0.0.1:8080:8080"], "plain HTTP is for this machine"
    assert services["keystead"]["depends_on"]["init"]["condition"] == "service_completed_successfully"
    assert "POSTGRES_PASSWORD" not in services["postgres"]["environment"], "a file has the password"


# Kubernetes.


KUBERNETES = DEPLOY / "kubernetes"
SCHEMA = json.loads((Path(__file__).parent / "kubernetes_1_34.json").read_text())
"""The part of Kubernetes' published API description (1.34, Apache-2.0) that these kinds need, without its texts. It
refuses members that a kind does not have."""


def kustomization() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text())
    return read


def manifests() -> list[dict[str, Any]]:
    names = [*kustomization()["resources"], "init.yaml"]
    return [one for name in names for one in yaml.safe_load_all((KUBERNETES / name).read_text())]


def problems_of(manifest: dict[str, Any]) -> list[str]:
    schema = {"$ref": f"#/$defs/{SCHEMA['kinds'][manifest['kind']]}", "$defs": SCHEMA["$defs"]}
    found = jsonschema.Draft202012Validator(schema).iter_errors(manifest)
    return [f"{error.json_path}: {error.message}" for error in found]


def test_the_base_has_every_file_and_kind() -> None:
    """kubectl applies it as it is: each file is in the base, apart from the one that is applied once."""
    base = kustomization()
    assert (base["apiVersion"], base["kind"]) == ("kustomize.config.k8s.io/v1beta1", "Kustomization")
    files = {path.name for path in KUBERNETES.iterdir()}
    assert {*base["resources"], "init.yaml", "kustomization.yaml"} == files
    kinds = [one["kind"] for one in manifests()]
    expected = [
        "ConfigMap",
        "Deployment",
        "Ingress",
        "Job",
        "Job",
        "NetworkPolicy",
        "PodDisruptionBudget",
        "Service",
    ]
    assert sorted(kinds) == expected
    names = [(one["kind"], one["metadata"]["name"]) for one in manifests()]
    assert len(set(names)) == len(names)


def test_every_manifest_is_one_of_kubernetes() -> None:
    for manifest in manifests():
        assert problems_of(manifest) == [], manifest["kind"]


WRONG: dict[str, Callable[[dict[str, Any]], None]] = {
    "an unknown member": lambda one: one["spec"].update(replica=2),
    "a wrong type": lambda one: one["spec"].update(replicas="two"),
    "a misspelled probe": lambda one: one["spec"]["template"]["spec"]["containers"][0].update(readyProbe={}),
    "a missing selector": lambda one: one["spec"].pop("selector"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_manifest_is_noticed(wrong: str) -> None:
    (deployment,) = [copy.deepcopy(one) for one in manifests() if one["kind"] == "Deployment"]
    WRONG[wrong](deployment)
    assert problems_of(deployment)


def test_the_manifests_belong_together() -> None:
    """The Ingress leads to the Service, the Service to the ports of the pods, and both jobs and the pods have the
    same secret."""
    of_kind = {one["kind"]: one for one in manifests()}
    (rule,) = of_kind["Ingress"]["spec"]["rules"]
    (tls,) = of_kind["Ingress"]["spec"]["tls"]
    assert tls["hosts"] == [rule["host"]]
    backend = rule["http"]["paths"][0]["backend"]["service"]
    assert backend["name"] == of_kind["Service"]["metadata"]["name"]
    ports = {port["name"]: port for port in of_kind["Service"]["spec"]["ports"]}
    (container,) = of_kind["Deployment"]["spec"]["template"]["spec"]["containers"]
    named = {port["name"] for port in container["ports"]}
    assert ports[backend["port"]["name"]]["targetPort"] in named
    allowed = [port["port"] for one in of_kind["NetworkPolicy"]["spec"]["ingress"] for port in one["ports"]]
    assert set(allowed) == named
    secrets = [volume["secret"] for pod in pods() for volume in pod["volumes"] if "secret" in volume]
    assert all(secret == {"secretName": "keystead", "defaultMode": 0o440} for secret in secrets)
    images = {one["image"] for pod in pods() for one in (*pod.get("initContainers", ()), *pod["containers"])}
    assert images == {f"keystead:{version('keystead')}"}
    budget = of_kind["PodDisruptionBudget"]["spec"]["minAvailable"]
    assert budget < of_kind["Deployment"]["spec"]["replicas"]


def test_the_commands_of_manifests_exist() -> None:
    group: Any = typer.main.get_command(app)
    context = group.make_context("keystead", [], resilient_parsing=True)
    for pod in pods():
        for container in (*pod.get("initContainers", ()), *pod["containers"]):
            name, *options = container["args"]
            command = group.get_command(context, name)
            assert command is not None, name
            known = {word for parameter in command.params for word in parameter.opts}
            assert {option.partition("=")[0] for option in options} <= known


def test_kubectl_builds_the_base() -> None:
    built = accepted("kubectl", "kustomize", KUBERNETES)
    if built:
        kinds = sorted(one["kind"] for one in yaml.safe_load_all(built))
        assert kinds == sorted(one["kind"] for one in manifests() if one["metadata"]["name"] != "keystead-init")


def pods() -> list[dict[str, Any]]:
    return [one["spec"]["template"]["spec"] for one in manifests() if one["kind"] in ("Deployment", "Job")]


@pytest.mark.parametrize("fails_at", ["", "up", "exec"])
def test_the_image_is_tried_and_removed(fails_at: str, tmp_path: Path) -> None:
    """With a runtime that only writes down what it is asked for, and a curl that finds a server at once."""
    asked = tmp_path / "asked"
    stub = f'#!/bin/sh\necho "$@" >> {asked}\ncase "$*" in *" {fails_at or "nothing"} "*) exit 3;; esac\n'
    for name, text in (("docker", stub), ("curl", "#!/bin/sh\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "TMPDIR": str(tmp_path)}
    before = set(tmp_path.iterdir())
    done = subprocess.run(
        ["sh", DEPLOY / "try-image.sh"], env=environment, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert (done.returncode, "The image works." in done.stdout) == ((3, False) if fails_at else (0, True)), (
        done.stderr
    )
    commands = asked.read_text().splitlines()
    assert commands[0].endswith("up --build --detach")
    assert commands[-1].endswith("down --volumes --timeout 40")
    assert set(tmp_path.iterdir()) - before == {asked}


def test_pods_are_confined() -> None:
    assert len(pods()) == 3
    for pod in pods():
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["fsGroup"] == pod["securityContext"]["runAsUser"] == 10_001
        assert pod["automountServiceAccountToken"] is False
        (secret,) = [volume["secret"] for volume in pod["volumes"] if "secret" in volume]
        assert secret["defaultMode"] == 0o440
        for container in (*pod.get("initContainers", ()), *pod["containers"]):
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert container["resources"]["limits"]["memory"]
            assert not [one for one in container.get("env", ()) if "PASSWORD" in one["name"]]


def test_the_deployment_is_replaced_without_an_interruption() -> None:
    (deployment,) = [one for one in manifests() if one["kind"] == "Deployment"]
    spec = deployment["spec"]
    assert spec["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    (container,) = spec["template"]["spec"]["containers"]
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
    (first,) = spec["template"]["spec"]["initContainers"]
    assert first["args"] == ["migrate", "--check"], "the job migrates"
    job = next(one for one in manifests() if one["metadata"]["name"] == "keystead-migrate")
    assert job["spec"]["template"]["spec"]["containers"][0]["args"] == ["migrate"]
    assert job["spec"]["ttlSecondsAfterFinished"] < 600, "the next version has a job of the same name"
    labels = spec["template"]["metadata"]["labels"]
    kinds = ("Service", "PodDisruptionBudget")
    selectors = [one["spec"]["selector"] for one in manifests() if one["kind"] in kinds]
    assert all((each.get("matchLabels") or each) == labels for each in selectors)
    (settings,) = [one["data"] for one in manifests() if one["kind"] == "ConfigMap"]
    assert str(container["ports"][0]["containerPort"]) == settings["KEYSTEAD_PORT"]
    assert settings["KEYSTEAD_METRICS_ADDRESS"].endswith(f":{container['ports'][1]['containerPort']}")


# systemd.

UNITS = sorted((DEPLOY / "systemd").iterdir())


def test_units_are_valid(tmp_path: Path) -> None:
    """For systemd the program must exist: another stands in its place."""
    for unit in UNITS:
        text = unit.read_text().replace("/opt/keystead/bin/keystead", "/bin/true")
        (tmp_path / unit.name).write_text(text)
    said = accepted("systemd-analyze", "verify", *(tmp_path / unit.name for unit in UNITS))
    assert [line for line in said.splitlines() if str(tmp_path) in line] == []


@pytest.mark.parametrize("name", [unit.name for unit in UNITS if unit.suffix == ".service"])
def test_services_are_confined(name: str, tmp_path: Path) -> None:
    """`systemd-analyze security` finds an exposure of at most 2.5 of 10."""
    text = (DEPLOY / "systemd" / name).read_text()
    for line in ("NoNewPrivileges=true", "ProtectSystem=strict", "CapabilityBoundingSet=", "User=keystead"):
        assert line in text
    unit = tmp_path / name
    unit.write_text(text.replace("/opt/keystead/bin/keystead", "/bin/true"))
    accepted("systemd-analyze", "security", "--offline=yes", "--threshold=25", unit)


def test_the_commands_of_units_exist() -> None:
    for unit in UNITS:
        for words in re.findall(r"/opt/keystead/bin/keystead ([a-z][a-z -]*)", unit.read_text()):
            command = [sys.executable, "-m", "keystead", shlex.split(words)[0], "-h"]
            done = subprocess.run(command, capture_output=True, timeout=PATIENCE_S)
            assert done.returncode == 0, words


# Caddy.


def test_caddy_in_front(make_postgres: MakeDatabase, start: Callable[..., Server], tmp_path: Path) -> None:
    """The example with two servers, over TLS. One of them stops: every request sent again has one outcome."""
    installation = bootstrap_installation(make_postgres())
    servers = [start(installation, trusted_proxies="127.0.0.1/32") for _ in range(2)]
    program = tool("caddy")
    text = (DEPLOY / "Caddyfile").read_text()
    assert "health_uri /readyz" in text
    if program is None:
        return
    port, admin = free_port(), free_port()
    file = tmp_path / "Caddyfile"
    # Other ports than 80 and 443, which belong to the machine.
    own = f"skip_install_trust\n\tadmin 127.0.0.1:{admin}\n\tauto_https disable_redirects"
    file.write_text(text.replace("skip_install_trust", own))
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "XDG_DATA_HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path),
        "KEYSTEAD_SITE": f"https://localhost:{port}",
        "KEYSTEAD_SERVERS": " ".join(f"127.0.0.1:{server.port}" for server in servers),
    }
    command = [program, "run", "--adapter", "caddyfile", "--config", str(file)]
    with ExitStack() as running:
        log = running.enter_context((tmp_path / "log").open("wb"))
        caddy = running.enter_context(subprocess.Popen(command, env=environment, stdout=log, stderr=log))
        try:
            authority = tmp_path / "caddy/pki/authorities/local/root.crt"
            http = _client(f"https://localhost:{port}", authority, caddy, tmp_path / "log")
            running.callback(http.close)
            caller = installation.caller(http)
            for number in range(4):
                caller.submitted("create_wallet", {"walletName": f"wallet {number}", "accounts": []})
            assert servers[0].stop() == 0
            for number in range(4, 8):
                body = caller.submit_body("create_wallet", {"walletName": f"wallet {number}", "accounts": []})
                status = caller.post("/public/v1/submit/create_wallet", body).status_code
                if status == 502:  # it met the stopped server, which gets no other for some time
                    status = caller.post("/public/v1/submit/create_wallet", body).status_code
                assert status == 200
            assert len(caller.asked("list_wallets")["wallets"]) == 8
        finally:
            caddy.terminate()
    installation.database.close()


def _client(url: str, authority: Path, caddy: subprocess.Popen[bytes], log: Path) -> httpx.Client:
    """A client that trusts the certificates that Caddy made, once it answers."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        assert caddy.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.05)
        if not authority.exists():
            continue
        try:
            trusted = ssl.create_default_context(cafile=authority)
        except ssl.SSLError:  # Caddy is writing the file
            continue
        http = httpx.Client(base_url=url, verify=trusted, trust_env=False, timeout=PATIENCE_S)
        try:
            if http.get("/readyz").status_code == 200:
                return http
        except httpx.TransportError:
            pass
        http.close()  # it may hold a connection: Caddy answers before the server does
