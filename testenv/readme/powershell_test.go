package readme

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// windowsPage has the blocks of the README in PowerShell.
const windowsPage = "cmd/jobagent/deploy/WINDOWS.md"

// arguments splits a command line into arguments. In both shells a text in single quotes stands as
// it is. The pages have no quote within one, and no escapes, which the test requires.
func arguments(t *testing.T, line string) (list []string) {
	t.Helper()
	require.NotRegexp(t, "[`\\\\]|''", strings.ReplaceAll(line, `GOPATH)\bin`, ""), line)
	for _, m := range regexp.MustCompile(`(?:'[^']*'|"[^"]*"|[^\s'"])+`).FindAllString(line, -1) {
		list = append(list, strings.NewReplacer("'", "", `"`, "").Replace(m))
	}
	return list
}

var (
	posixVariable = regexp.MustCompile(`^(?:export )?(JOBAGENT_[A-Z_]+)=('[^']*'|\S+)(?: (.*))?$`)
	powerVariable = regexp.MustCompile(`^\$env:(JOBAGENT_[A-Z_]+) = ('[^']*')$`)
	writtenFile   = regexp.MustCompile(`(?s)^cat > (\S+) <<'EOF'\n(.*)\nEOF$|^Set-Content -Encoding utf8 (\S+) '(.*)'$`)
)

// doings are what a block does, without the spelling of its shell: each is a command with its
// arguments, NAME=VALUE of a variable, or a file with its text.
func doings(t *testing.T, b block) (list [][]string) {
	t.Helper()
	for _, line := range b.commands() {
		if m := powerVariable.FindStringSubmatch(line); m != nil {
			list = append(list, []string{m[1] + "=" + strings.Trim(m[2], "'")})
			continue
		}
		if m := posixVariable.FindStringSubmatch(line); m != nil {
			list = append(list, []string{m[1] + "=" + strings.Trim(m[2], "'")})
			line = m[3]
		}
		switch m := writtenFile.FindStringSubmatch(line); {
		case m != nil:
			list = append(list, []string{"file", m[1] + m[3], m[2] + m[4]})
		case strings.HasPrefix(line, "export PATH="), strings.HasPrefix(line, "$env:PATH +="):
			list = append(list, []string{"PATH"})
		case line != "":
			list = append(list, arguments(t, line))
		}
	}
	return list
}

// The page for Windows has each block of the README, with the same variables and the same arguments
// of the same commands. No argument has a double quote within, which Windows PowerShell 5.1 loses.
func TestPowerShellDoesWhatTheREADMEDoes(t *testing.T) {
	t.Parallel()
	of := func(page, language string) (list []block) {
		document, err := os.ReadFile(filepath.Join(root, page))
		require.NoError(t, err)
		all, _ := blocks(string(document))
		for _, b := range all {
			if b.language == language {
				list = append(list, b)
			}
		}
		return list
	}
	power := of(windowsPage, "powershell")
	for i, posix := range of("README.md", "sh")[1:] { // the first is for those who have the sources
		require.Less(t, i, len(power), "README.md:%d has no block in %s", posix.line, windowsPage)
		require.Equal(t, doings(t, posix), doings(t, power[i]), "README.md:%d, %s:%d", posix.line, windowsPage, power[i].line)
		require.NotRegexp(t, `'[^'\n]*"[^'\n]*'|&&|\|\|`, power[i].text, "%s:%d", windowsPage, power[i].line)
	}
}
