#!/bin/bash
# All tests, ten times as deep as tests/run.sh has them: for hours. The same last
# line, `N passed, N failed, N skipped`.
#
#   bash tests/nightly.sh [option of tests/run.sh]...
exec bash "$(dirname "${BASH_SOURCE[0]}")/run.sh" --deep 10 "$@"
