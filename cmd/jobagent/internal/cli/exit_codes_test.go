package cli

import (
	_ "embed"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/contexts"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
)

// exitCodes has a line for each command: its exit code if the control database cannot be reached,
// and a valid command line, in which ~ stands for a blank. The code is - if the command starts a
// server of its own, or goes on until it is interrupted. Files are those of exitCodeFiles and of
// the importer's testdata.
//
//go:embed testdata/exit_codes.txt
var exitCodes string

// exitCodeFiles are the files that lines of exitCodes name.
var exitCodeFiles = map[string]string{
	"report.json": `{"method": "GET", "url": "https://127.0.0.1:1/"}`, "holidays.json": `{"dates": ["2030-12-24"]}`,
	"jobs/g.yaml": "apiVersion: jobagent/v1\nkind: TargetGroup\nname: g\nmembers: []\n", "plan.yaml": "waves: [{name: all, targets: rest}]\n",
	"nightly.sql": "PRINT 1;\n", "clean.sql": "PRINT 1;\n", "tenants.csv": "server_name,database_name\nsql1,a\n",
}

// Every command has its documented exit code for an unknown flag, for an argument that it does not
// take, and for a control database that cannot be reached.
func TestExitCodes(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS("../../../../jobs/importer/testdata")))
	t.Chdir(dir)
	require.NoError(t, os.Mkdir("jobs", 0o700))
	for name, text := range exitCodeFiles {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	t.Setenv(config.EnvDSN, "sqlserver://sa:x@127.0.0.1:1?database=jobs")
	t.Setenv(contexts.EnvFile, "contexts.yaml")
	t.Setenv("XDG_CONFIG_HOME", dir)
	try := func(want int, args ...string) {
		t.Helper()
		var stdout, stderr strings.Builder
		got := Run(t.Context(), args, strings.NewReader(""), &stdout, &stderr)
		if got != want || want == exit.CodeUsage && (stdout.Len() > 0 || !strings.HasPrefix(stderr.String(), "error: ")) {
			t.Errorf("jobagent %q: exit code %d, stdout %q, stderr %q; want exit code %d", args, got, stdout.String(), stderr.String(), want)
		}
	}

	missing := map[string]bool{} // the commands that no line has yet
	root := tree()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	eachCommandOf(root, func(cmd *cobra.Command) {
		if !cmd.HasSubCommands() && !cmd.IsAdditionalHelpTopicCommand() {
			missing[cmd.CommandPath()] = true
		}
	})
	for line := range strings.Lines(exitCodes) {
		code, words, _ := strings.Cut(strings.TrimSpace(line), " ")
		args := strings.Fields(words)
		cmd, _, err := root.Find(args)
		require.NoError(t, err, line)
		delete(missing, cmd.CommandPath())
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "~", " ")
		}
		try(exit.CodeUsage, append(slices.Clone(args), "--no-such-flag")...)
		if many := strings.ContainsAny(cmd.Use, ".…"); !many {
			try(exit.CodeUsage, append(slices.Clone(args), slices.Repeat([]string{"surplus"}, 5)...)...)
		}
		switch code {
		case "-":
		case "0":
			try(exit.CodeOK, args...)
		default:
			require.Len(t, code, 1, line)
			try(int(code[0]-'0'), args...)
		}
	}
	require.Empty(t, missing, "add a line for each of these commands to testdata/exit_codes.txt")
}
