"""`python -m tools.figures`: how large the project is, without generated code. `--small` lists modules to merge.

Lines of source are those of src/keystead; an import statement counts with all its lines. `--small`: modules under
80 lines that only one module of their package imports, with that module."""

from __future__ import annotations

import argparse
import ast
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "keystead"
GENERATED = frozenset({"client/operations.py", "client/shapes.py", "client/dev_methods.py"})
SMALL_LINES = 80


def sources() -> dict[str, str]:
    """The written modules: path below src/keystead, text."""
    files = {file.relative_to(SOURCE).as_posix(): file.read_text() for file in sorted(SOURCE.rglob("*.py"))}
    return {path: text for path, text in files.items() if path not in GENERATED}


def figures() -> list[tuple[str, str]]:
    texts = sources()
    trees = {path: ast.parse(text) for path, text in texts.items()}
    lines = sum(len(text.splitlines()) for text in texts.values())
    imports = sum(_import_lines(tree) for tree in trees.values())
    functions = sum(
        isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef) for t in trees.values() for n in ast.walk(t)
    )
    folders = Counter(str(Path(path).parent) for path in texts if not path.endswith("__init__.py"))
    fullest, count = max(folders.items(), key=lambda folder: folder[1])
    longest = max(texts, key=lambda path: len(texts[path].splitlines()))
    words = sum(len(page.read_text().split()) for page in (ROOT / "docs").rglob("*.md"))
    return [
        ("lines of source", f"{lines:,}"),
        ("modules", f"{len(texts):,}"),
        ("import statements", f"{imports:,} lines, {imports / lines:.1%}"),
        ("functions", f"{functions:,}"),
        ("fullest folder", f"{fullest}, {count} modules"),
        ("longest module", f"{longest}, {len(texts[longest].splitlines())} lines"),
        ("words of docs", f"{words:,}"),
    ]


def _import_lines(tree: ast.Module) -> int:
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    return sum((node.end_lineno or node.lineno) - node.lineno + 1 for node in found)


def small_modules() -> list[tuple[str, int, str]]:
    """Each small module with one importer in its package: its path, its lines, its importer."""
    texts = sources()
    importers: dict[str, set[str]] = {path: set() for path in texts}
    for path, text in texts.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                for name in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names)):
                    imported = "/".join(name.split(".")[1:]) + ".py"
                    if imported in importers:
                        importers[imported].add(path)
    found = []
    for path, by in importers.items():
        lines = len(texts[path].splitlines())
        if lines < SMALL_LINES and len(by) == 1 and next(iter(by)).split("/")[0] == path.split("/")[0]:
            found.append((path, lines, next(iter(by))))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="How large the project is, without generated code.")
    parser.add_argument("--small", action="store_true", help="list small modules with one importer")
    if parser.parse_args().small:
        for path, lines, importer in small_modules():
            sys.stdout.write(f"{path}  {lines} lines  {importer}\n")
        return
    for name, value in figures():
        sys.stdout.write(f"{name:<18} {value}\n")


if __name__ == "__main__":
    main()
