package cli

import (
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/controldb/message"
	sqlfs "github.com/jobagent/jobagent/sql"
)

// tree returns all commands.
func tree() *cobra.Command {
	return newRootCommand(connect.New(strings.NewReader(""), io.Discard, io.Discard))
}

// Every procedure and view that a command stands for is one of the schema, and no other command
// stands for it.
func TestCommandsStandForObjects(t *testing.T) {
	t.Parallel()
	objects, err := sqlfs.Objects()
	require.NoError(t, err)
	declared := 0
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if !cmd.HasSubCommands() {
			declared += len(command.Objects(cmd))
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(tree())
	found := command.Objects(tree())
	require.Len(t, found, declared)
	for object, cmd := range found {
		require.True(t, cmd.Runnable(), object)
		require.True(t, slices.ContainsFunc(objects, func(o sqlfs.Object) bool { return o.Name == object }), object)
	}
}

var (
	thrown   = regexp.MustCompile(`(?s)(?:SET @message = REPLACE\(CONCAT\((.*?)\), N'%'|THROW 50\d\d\d, (N'(?:[^']|'')*'))`)
	sqlText  = regexp.MustCompile(`(?s)N'((?:[^']|'')*)'|@(\w+)`)
	calledBy = regexp.MustCompile(`(?s)-- Called by: (.*?)\n-- [A-Z]`)
	sqlName  = regexp.MustCompile(`\bjobs(?:_internal)?\.\w+|\b[a-z]+_[a-z_]+\b`)
	leftover = regexp.MustCompile(`@[a-z]\w*|jobs\.\w+|NULL|\bN'`)
)

// withoutWords are parts of errors that stay as they are.
var withoutWords = []string{
	"or jobs.sp_delete_scheduler_job",    // the command line does not change jobs of job collections
	"want at least 1, or NULL to remove", // the command line checks the number
}

// errorTexts returns the texts of errors that a procedure throws, with x for each value.
func errorTexts(source string) (texts []string) {
	for _, m := range thrown.FindAllStringSubmatch(source, -1) {
		var b strings.Builder
		for _, part := range sqlText.FindAllStringSubmatch(m[1]+m[2], -1) {
			if part[2] != "" {
				b.WriteString("x")
			}
			b.WriteString(strings.ReplaceAll(part[1], "''", "'"))
		}
		texts = append(texts, b.String())
	}
	return texts
}

// An error of a procedure that a command calls, itself or through others, names neither parameters
// nor procedures nor views.
func TestErrorsAreInTheWordsOfCommands(t *testing.T) {
	t.Parallel()
	objects, err := sqlfs.Objects()
	require.NoError(t, err)
	source := map[string]string{}
	for _, o := range objects {
		if o.Kind == sqlfs.KindProcedure {
			source[o.Name] = o.Text
		}
	}
	// commandsOf returns the commands that call a procedure.
	var commandsOf func(name string, seen []string) []*cobra.Command
	stands := command.Objects(tree())
	commandsOf = func(name string, seen []string) (found []*cobra.Command) {
		if cmd, ok := stands[name]; ok {
			return []*cobra.Command{cmd}
		}
		m := calledBy.FindStringSubmatch(source[name])
		if m == nil || slices.Contains(seen, name) {
			return nil
		}
		for _, caller := range sqlName.FindAllString(m[1], -1) {
			if !strings.Contains(caller, ".") {
				caller = "jobs_internal." + caller
			}
			found = append(found, commandsOf(caller, append(seen, name))...)
		}
		return found
	}
	checked := 0
	for name, text := range source {
		for _, cmd := range commandsOf(name, nil) {
			for _, one := range errorTexts(text) {
				one = strings.NewReplacer("xNULL", "x", "'NULL", "'", "x is NULL", "@job_name is NULL").Replace(one) // of COALESCE, and a name in a variable
				if slices.ContainsFunc(withoutWords, func(part string) bool { return strings.Contains(one, part) }) {
					continue
				}
				checked++
				got := command.Words(cmd, message.Parse(one))
				if left := leftover.FindAllString(got, -1); left != nil {
					t.Errorf("%s, error of %s:\n  %s\n  %s\n  still has %v", cmd.CommandPath(), name, one, got, left)
				}
			}
		}
	}
	require.Greater(t, checked, 200)
}

// The names of objects stay, also if they look like parameters.
func TestWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ words, text, want string }{
		{"step add", "Invalid @retry_attempts -1: want at least 0.", "Invalid --retry-attempts -1: want at least 0."},
		{"step update", "Missing step name: @new_name is empty.", "Missing step name: --new-name is empty."},
		{"job show", "The job '@job_name' does not exist. The view jobs.jobs lists all jobs.", "The job '@job_name' does not exist. jobagent job list shows all jobs."},
		{"job delete", "delete with @force = 1.", "delete with --force."},
		{"schedule delete", "The schedule of the job's own definition cannot be deleted. Disable it with jobs.sp_update_job @enabled = 0.",
			"The schedule of the job's own definition cannot be deleted. Disable it with jobagent job update --enabled=false."},
		{"execution complete", "want @success = 1 or @success = 0.", "want --succeeded or --failed."},
		{"execution explain", "a report must end attempt 1; jobs.callbacks shows it, and jobs.sp_complete_callback reports by hand",
			"a report must end attempt 1; jobagent execution callbacks shows it, and jobagent execution complete reports by hand"},
		{"alert test", "Give it some with jobs.sp_update_alert @channels.", "Give it some with jobagent alert rule update --channel."},
		{"limit set", "N'*' means all, N'(default)' the agents' default credential.", "'*' means all, '(default)' the agents' default credential."},
		{"execution rerun", "the run CFF0E395-1CCF-46F2-8BF3-D59C11379EB7 of 'CFF0E395-1CCF-46F2-8BF3-D59C11379EB7'", "the run cff0e395-1ccf-46f2-8bf3-d59c11379eb7 of 'CFF0E395-1CCF-46F2-8BF3-D59C11379EB7'"},
		{"job start", "Mail to a@b.example.com", "Mail to a@b.example.com"},
		{"job start", "The view jobs.credentials lists all credentials.", "The view jobs.credentials lists all credentials."},
	} {
		cmd, _, err := tree().Find(strings.Fields(c.words))
		require.NoError(t, err)
		require.Equal(t, c.want, command.Words(cmd, message.Parse(c.text)))
	}
	// Of several flags for a parameter, the one that was given is named.
	cmd, _, err := tree().Find([]string{"step", "add"})
	require.NoError(t, err)
	require.NoError(t, cmd.ParseFlags([]string{"--file", "x.sql"}))
	require.Equal(t, "Missing command: --file is missing or empty.", command.Words(cmd, message.Parse("Missing command: @command is NULL or empty.")))
}
