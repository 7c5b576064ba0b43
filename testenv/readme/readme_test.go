package readme

import (
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	mssql "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// root is the repository, seen from this package.
const root = "../.."

// pages are the documents for users, whose blocks are run, in this order. README.md comes first: it
// installs the binary and starts the server.
var pages = []string{
	"README.md", "cmd/jobagent/COMMANDS.md", "cmd/jobagent/QUERY.md", "cmd/jobagent/DRIFT.md", "cmd/jobagent/TRIGGERS.md", "cmd/jobagent/WINDOWS.md", "cmd/jobagent/INVENTORY.md",
	"cmd/jobagent/SETTINGS.md", "cmd/jobagent/deploy/DEPLOY.md", "cmd/jobagent/release/RELEASE.md",
	"jobs/schedule/FORMS.md",
	"jobs/importer/FROM_ELASTIC_JOBS.md", "jobs/importer/FROM_SQL_AGENT.md", "jobs/importer/FROM_AZURE_SCHEDULER.md",
	"jobs/importer/FROM_SAP.md", "jobs/importer/FROM_CRON.md", "jobs/importer/FROM_KUBERNETES.md", "jobs/importer/FROM_TASK_SCHEDULER.md",
	"jobs/importer/FROM_QUARTZ.md", "jobs/importer/FROM_ICALENDAR.md",
	"jobs/kit/KIT.md",
	"cmd/jobagent/deploy/PRODUCTION.md", // after the pages that show all jobs and schedules
	".github/CONTRIBUTING.md",
}

var show = flag.Bool("readme.show", false, "TestPages logs what each block shows, to be copied into the pages")

// runElsewhere lists pages whose blocks another test runs or checks, with this test.
var runElsewhere = map[string]string{
	"sql/ROLLOUTS.md":                        "TestRollOutOfFortyTenants in agent runs its blocks",
	"jobs/manifest/README.md":                "testPage in cmd/jobagent/internal/cli",
	windowsPage:                              "TestPowerShellDoesWhatTheREADMEDoes compares its blocks with the README's; .ci/windows.ps1 runs them",
	"cmd/jobagent/deploy/dba/MAINTENANCE.md": "TestPagesForDBAs in cmd/jobagent checks the commands, which stop or remove what other pages use",
	"cmd/jobagent/deploy/dba/RUNBOOKS.md":    "as MAINTENANCE.md",
	"cmd/jobagent/deploy/dba/TARGETS.md":     "TestLeftInTargets in cmd/jobagent runs its blocks",
}

// notRun lists the commands that the test does not run, by their beginning, with the reason.
var notRun = map[string]string{
	"git clone ":                      "the clone is this repository",
	"go run ./cmd/jobagent demo":      "the README runs the demo",
	"go test ":                        "this test is part of it, or it takes minutes",
	"jobagent action try":             "it calls a host of the internet",
	"jobagent dev --data devdata  ":   "the server of the first lines is still running",
	"jobagent dev --dev-issuer":       "the server of the first lines is still running",
	"jobagent schedule enable JOB":    "JOB and SCHEDULE stand for the reader's names",
	"jobagent import quartz":          "it reads the tables of Quartz, which the embedded server does not have",
	"jobagent import sql-agent --dsn": "it reads the database msdb of SQL Server Agent, which the embedded server does not have",
	"jobagent rollout ":               "JOB and ROLLOUT_ID stand for the reader's names; the tests of cli and agent roll jobs out",
	"jobagent job start JOB ":         "JOB stands for the reader's name",
	"sudo ":                           "it changes this machine",
	"docker ":                         "no container engine is at hand",
	"kubectl ":                        "no cluster is at hand",
	"helm ":                           "no cluster is at hand; .ci/chart/run renders the chart",
	"az ":                             "no subscription of Azure is at hand",
	"bash .ci/release ":               "it builds for minutes; TestRelease in cmd/jobagent/release writes the same files around small binaries",
}

// notRunText lists the T-SQL that the test leaves out of its block, with the reason.
var notRunText = map[string]string{
	"ALTER SERVER ROLE sysadmin DROP MEMBER jobuser;": "the login of this example is not a member, which is an error",
}

// exitCodes lists the commands that end with another exit code than 0 here, by their beginning.
var exitCodes = map[string]int{
	"jobagent doctor":                          7, // no agent runs yet
	"jobagent doctor --targets":                0,
	"jobagent execution complete":              3, // the run of these pages has no action that waits for a report
	"jobagent schedule preview --cron5 'cron(": 2, // the text is of another language
	"jobagent diff -f imported":                1, // nothing of the import is in the control database
	"jobagent execution rerun":                 6, // the run of these pages succeeded: there is nothing to repeat
}

// block is a fenced block of a document.
type block struct {
	language, text string
	line           int // number of its first line in the document
}

// blocks returns the fenced blocks of a document, and its text without them. Blocks of a list are
// indented.
func blocks(document string) (list []block, rest string) {
	var b strings.Builder
	inside, indent := false, ""
	for i, line := range strings.Split(document, "\n") {
		trimmed := strings.TrimLeft(line, " ")
		language, fence := strings.CutPrefix(trimmed, "```")
		switch {
		case fence && !inside:
			inside, indent = true, line[:len(line)-len(trimmed)]
			list = append(list, block{language: language, line: i + 2})
		case fence:
			inside = false
		case inside:
			list[len(list)-1].text += strings.TrimPrefix(line, indent) + "\n"
		default:
			b.WriteString(line + "\n")
		}
	}
	return list, b.String()
}

// commands returns the command lines of a block of a shell: a command may go on in the next lines,
// by a backslash or a here-document.
func (b block) commands() (list []string) {
	var command, end string
	for line := range strings.SplitSeq(strings.TrimSpace(b.text), "\n") {
		if command += line; end == "" {
			if m := hereDocument.FindStringSubmatch(line); m != nil {
				end = m[1]
			}
		}
		switch {
		case end != "" && line != end, end == "" && strings.HasSuffix(line, "\\"):
			command += "\n"
		default:
			list = append(list, command)
			command, end = "", ""
		}
	}
	return list
}

var hereDocument = regexp.MustCompile(`<<'?([A-Z]+)'?`)

// reader is a user who follows the pages: a home and a work directory with nothing in them, a PATH
// with Go and the system's tools, a shell, and a running `jobagent dev` in another one.
type reader struct {
	dir     string
	env     []string
	shell   *shell
	dev     *shell
	page    string            // that is read
	address string            // of dev
	front   string            // address of dev's REST front
	run     string            // ID of the first run
	shown   string            // output of the latest block
	setup   []string          // the variables of the README's five minutes
	helps   map[string]string // texts of --help, by command
}

// TestPages pastes the blocks of all pages, line by line, and compares what is then shown with what
// the pages show.
func TestPages(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the pages are for a POSIX shell")
	}
	r := &reader{dir: t.TempDir(), helps: map[string]string{}}
	home := filepath.Join(r.dir, "home")
	require.NoError(t, os.Mkdir(home, 0o700))
	cache := goEnv(t, "GOCACHE", "GOMODCACHE", "GOROOT", "GOFLAGS", "GOPROXY")
	r.env = []string{
		"HOME=" + home, "PATH=" + filepath.Join(cache[2], "bin") + ":/usr/local/bin:/usr/bin:/bin",
		// The only things of this machine: what Go has downloaded and built before.
		"GOCACHE=" + cache[0], "GOMODCACHE=" + cache[1], "GOPROXY=" + cache[4], "GOTOOLCHAIN=local",
		// The linker and the garbage collector took half of the processor time.
		"GOFLAGS=" + strings.TrimSpace(cache[3]+" -ldflags=-w"), "GOGC=400",
	}
	work := filepath.Join(r.dir, "work")
	require.NoError(t, os.Mkdir(work, 0o700))
	r.dir = work
	defer r.stopDev(t)
	for _, page := range testenv.Sample(pages[:2], pages) {
		r.read(t, page)
	}
}

// goEnv returns settings of the go command.
func goEnv(t *testing.T, names ...string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", append([]string{"env"}, names...)...).Output()
	require.NoError(t, err)
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

// read follows a page in a shell of its own.
func (r *reader) read(t *testing.T, page string) {
	t.Helper()
	document, err := os.ReadFile(filepath.Join(root, page))
	require.NoError(t, err)
	r.page, r.shown = page, ""
	r.shell = newShell(t, r.dir, slices.Clone(r.env), columns)
	defer r.shell.close(t)
	for _, line := range r.setup {
		_, code := r.shell.paste(t, line)
		require.Zero(t, code, line)
	}
	list, rest := blocks(string(document))
	for _, b := range list {
		switch b.language {
		case "sh":
			r.paste(t, b)
		case "sql":
			r.query(t, b)
		case "text":
			missing := differs(b.text, r.shown)
			require.Empty(t, missing, "%s:%d: the page shows a line that the output lacks; the output is\n%s", page, b.line, r.shown)
		case "json":
			r.config(t, b.text)
		default:
			t.Errorf("%s:%d: no test for a block of %q", page, b.line, b.language)
		}
		if *show && (b.language == "sh" || b.language == "sql") {
			t.Logf("%s:%d shows\n%s", page, b.line, r.shown)
		}
	}
	for _, m := range regexp.MustCompile("`({\"[^`]*})`").FindAllStringSubmatch(rest, -1) {
		r.config(t, m[1])
	}
	for _, m := range regexp.MustCompile("`(jobagent [^`]*)`").FindAllStringSubmatch(rest, -1) {
		r.help(t, strings.Fields(m[1]))
	}
}

// replace replaces the names in an example by those of the test.
func (r *reader) replace(text string) string {
	return strings.NewReplacer(
		"127.0.0.1:1433", r.address,
		"127.0.0.1:8443", r.front,
		"127.0.0.1,1433", strings.Replace(r.address, ":", ",", 1),
		"sql1.example.com?database=jobs", r.address+"?database=jobs&serverCertificate=devdata/server-certificate.pem",
		"sa:PASSWORD", "sa:Play-w1th-it",
		"EXECUTION_ID", r.run,
	).Replace(text)
}

// lookUp returns the entry with the longest key that is the beginning of a command.
func lookUp[V any](entries map[string]V, command string) (found bool, value V) {
	longest := -1
	for prefix, v := range entries {
		if strings.HasPrefix(command, prefix) && len(prefix) > longest {
			found, value, longest = true, v, len(prefix)
		}
	}
	return found, value
}

// paste pastes the commands of a block.
func (r *reader) paste(t *testing.T, b block) {
	t.Helper()
	require.NotContains(t, b.text, "\t", "%s:%d: a shell completes at a tab", r.page, b.line)
	r.shown = ""
	for _, line := range b.commands() {
		if r.page == "README.md" {
			require.NotRegexp(t, ` #|^#`, line, "%s:%d: zsh takes no comments", r.page, b.line)
		}
		if skipped, reason := lookUp(notRun, line); skipped {
			t.Logf("%s:%d: not run, because %s: %s", r.page, b.line, reason, line)
			checkGoTest(t, line)
			continue
		}
		command := r.replace(line)
		switch {
		case line == "cd jobagent": // the clone
			repository, err := filepath.Abs(root)
			require.NoError(t, err)
			command = "cd " + repository
		case line == "cd ..":
			command = "cd " + r.dir
		case strings.HasPrefix(line, "export PATH="):
			r.env[1] += ":" + filepath.Join(filepath.Dir(r.dir), "home", "go", "bin") // for the other shells
		case strings.HasPrefix(line, "export JOBAGENT_") && len(r.setup) < 2:
			r.setup = append(r.setup, command)
		case strings.HasPrefix(line, "jobagent import sql-agent jobs.sql"):
			script, err := os.ReadFile(filepath.Join(root, "jobs", "importer", "testdata", "sqlagent", "jobs.sql"))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(r.dir, "jobs.sql"), script, 0o600))
		case line == "jobagent db install": // in "an empty database, for example jobs"
			_, err := r.open(t, "master").ExecContext(t.Context(), "CREATE DATABASE jobs")
			require.NoError(t, err)
		case strings.Contains(line, "jobagent dev "):
			r.startDev(t, command)
			continue
		case strings.Contains(line, "jobagent run "):
			r.runAgent(t, command)
			continue
		}
		if line == "jobagent demo" && *record {
			r.recordDemo(t)
		}
		_, want := lookUp(exitCodes, line)
		shown, code := r.shell.paste(t, command)
		require.Equal(t, want, code, "%s:%d: %s\n%s", r.page, b.line, command, shown)
		r.shown += shown + "\n"
		if line == "jobagent demo" {
			checkPicture(t, shown)
		}
	}
}

// startDev starts `jobagent dev` on free ports, in a terminal of its own.
func (r *reader) startDev(t *testing.T, command string) {
	t.Helper()
	r.dev = newShell(t, r.dir, slices.Clone(r.env), wide)
	r.dev.write(t, command+" --listen 127.0.0.1:0 --rest-listen 127.0.0.1:0\n")
	before, address := r.dev.await(t, "ready", regexp.MustCompile(`jobagent dev is ready on (127\.0\.0\.1),(\d+).*\n`))
	between, front := r.dev.await(t, "the dashboard", regexp.MustCompile(`Dashboard: +https://(127\.0\.0\.1:\d+).*\n`))
	after, last := r.dev.await(t, "the line for sqlcmd", regexp.MustCompile(`sqlcmd -S .*\n`))
	r.address, r.front = address[1]+":"+address[2], front[1]
	r.shown = rendered(t, before+address[0]+between+front[0]+after+last[0], wide)
}

// stopDev ends `jobagent dev` by Ctrl-C.
func (r *reader) stopDev(t *testing.T) {
	switch {
	case r.dev == nil:
		return
	case t.Failed():
		r.dev.close(t)
		return
	}
	r.dev.write(t, "\x03")
	_, groups := r.dev.await(t, "the end of the server", prompts)
	require.Contains(t, []string{"0", "130"}, groups[1])
	r.dev.close(t)
}

// runAgent runs an agent on the control database jobs until the agent has registered, ends it by
// Ctrl-C, and drops the database.
func (r *reader) runAgent(t *testing.T, command string) {
	t.Helper()
	r.shell.write(t, command+"\n")
	agents := r.open(t, "jobs")
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		var n int
		require.NoError(c, agents.QueryRowContext(t.Context(), "SELECT live_agents FROM jobs.live_agents").Scan(&n))
		require.Equal(c, 1, n)
	}, 30*time.Second, 50*time.Millisecond)
	r.shell.write(t, "\x03")
	_, groups := r.shell.await(t, "the end of the agent", prompts)
	require.Equal(t, "0", groups[1])
	// The server's other databases are targets of the next sections.
	const drop = "ALTER DATABASE jobs SET SINGLE_USER WITH ROLLBACK IMMEDIATE; DROP DATABASE jobs"
	_, err := r.open(t, "master").ExecContext(t.Context(), drop)
	require.NoError(t, err)
}

// open opens a pool on a database of `jobagent dev`.
func (r *reader) open(t testing.TB, database string) *sql.DB {
	t.Helper()
	certificate := filepath.Join(r.dir, "devdata", "server-certificate.pem")
	connector, err := mssql.NewConnector("sqlserver://sa:Play-w1th-it@" + r.address + "?encrypt=true&database=" + database + "&serverCertificate=" + certificate)
	require.NoError(t, err)
	db := sql.OpenDB(connector)
	// No idle connections: those to a server that has ended a minute before cannot be closed
	// without an error.
	db.SetMaxIdleConns(-1)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// query runs a block of T-SQL in the control database of `jobagent dev`, as sqlcmd does: batch by
// batch, on one connection.
func (r *reader) query(t *testing.T, b block) {
	t.Helper()
	text := r.replace(b.text)
	for part, reason := range notRunText {
		if strings.Contains(text, part) {
			t.Logf("%s:%d: not run, because %s: %s", r.page, b.line, reason, part)
			text = strings.Replace(text, part, "", 1)
		}
	}
	conn, err := r.open(t, "jobagent").Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	var out strings.Builder
	for _, batch := range regexp.MustCompile(`(?m)^GO$`).Split(text, -1) {
		if strings.TrimSpace(batch) == "" {
			continue
		}
		rows, err := conn.QueryContext(t.Context(), batch)
		require.NoError(t, err, "%s:%d: %s", r.page, b.line, batch)
		printRows(t, &out, rows)
		require.NoError(t, rows.Close(), "%s:%d: %s", r.page, b.line, batch)
	}
	r.shown = out.String()
	if r.run == "" {
		r.awaitRun(t)
	}
}

// printRows prints the result sets of a batch.
func printRows(t *testing.T, out *strings.Builder, rows *sql.Rows) {
	t.Helper()
	for {
		names, err := rows.Columns()
		require.NoError(t, err)
		if len(names) > 0 {
			fmt.Fprintln(out, strings.Join(names, " "))
		}
		for rows.Next() {
			values := make([]any, len(names))
			for i := range values {
				values[i] = new(sql.NullString)
			}
			require.NoError(t, rows.Scan(values...))
			for _, v := range values {
				text := "NULL"
				if s := v.(*sql.NullString); s.Valid {
					text = s.String
				}
				fmt.Fprint(out, text, " ")
			}
			fmt.Fprintln(out)
		}
		require.NoError(t, rows.Err())
		if !rows.NextResultSet() {
			require.NoError(t, rows.Err())
			return
		}
	}
}

// awaitRun waits for the end of the first run. A later block creates a control database, which must
// not become a target of this run.
func (r *reader) awaitRun(t *testing.T) {
	t.Helper()
	db := r.open(t, "jobagent")
	var id mssql.UniqueIdentifier
	query := "SELECT job_execution_id FROM jobs.job_executions WHERE step_id IS NULL AND job_name = N'create table'"
	require.NoError(t, db.QueryRowContext(t.Context(), query).Scan(&id))
	r.run = uuid.UUID(id).String()
	require.Eventually(t, func() bool {
		var active bool
		err := db.QueryRowContext(t.Context(), "SELECT is_active FROM jobs.job_executions WHERE step_id IS NULL AND job_execution_id = @p1", r.run).Scan(&active)
		return err == nil && !active
	}, 30*time.Second, 100*time.Millisecond)
}

// bash runs a command beside the terminals.
func (r *reader) bash(t *testing.T, text string) (out string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-c", strings.Join(append(slices.Clone(r.setup), text), "\n"))
	cmd.Dir, cmd.Env = r.dir, r.env
	output, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		require.NoError(t, err, text)
	}
	return string(output), cmd.ProcessState.ExitCode()
}

// config requires that a command accepts a configuration file, which may be given as one of its
// elements.
func (r *reader) config(t *testing.T, text string) {
	t.Helper()
	if !strings.HasPrefix(text, "{") {
		text = "{" + text + "}"
	}
	path := filepath.Join(r.dir, "config.json")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	out, code := r.bash(t, "JOB_PASSWORD=x jobagent doctor --config "+path)
	// 7: the doctor warns about a setting. An invalid configuration has the exit code 2.
	require.Contains(t, []int{0, 7}, code, "%s\n%s", text, out)
}

// help requires that the help of a command describes the flags of an example, or that a help topic
// exists.
func (r *reader) help(t *testing.T, words []string) {
	t.Helper()
	name := words
	if i := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "-") || w == strings.ToUpper(w) }); i >= 0 {
		name = words[:i]
	}
	if len(name) == 1 {
		return // the flag of all commands
	}
	if name[1] == "help" {
		out, code := r.bash(t, strings.Join(name, " "))
		require.Zero(t, code, out)
		require.NotContains(t, out, "Unknown help topic")
		return
	}
	command := strings.Join(name, " ")
	out, known := r.helps[command]
	if !known {
		var code int
		out, code = r.bash(t, command+" --help")
		require.Zero(t, code, out)
		r.helps[command] = out
	}
	require.Contains(t, out, "  "+strings.Join(name, " ")+" ", "the help is that of the command")
	for _, word := range words {
		if strings.HasPrefix(word, "--") && word != "--help" {
			require.Regexp(t, word+"[ [=]", out, strings.Join(words, " ")) // a switch has [=true|false] behind its name
		}
	}
}

// checkGoTest checks that the package of a test command has the test and the flags of the command.
func checkGoTest(t *testing.T, line string) {
	t.Helper()
	if !strings.HasPrefix(line, "go test ./") || strings.HasPrefix(line, "go test ./...") {
		return
	}
	command, _, _ := strings.Cut(line, " #")
	words := strings.Fields(command)
	var source strings.Builder
	paths, err := filepath.Glob(filepath.Join(root, words[2], "*_test.go"))
	require.NoError(t, err)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		source.Write(text)
	}
	for i, word := range words {
		switch {
		case word == "-run" || word == "-fuzz":
			if name := strings.Trim(words[i+1], "'^$"); name != "" {
				require.Contains(t, source.String(), "\nfunc "+name+"(", line)
			}
		case strings.HasPrefix(word, "-") && strings.Contains(word, "."):
			require.Contains(t, source.String(), `"`+word[1:]+`"`, line)
		}
	}
}

// Blocks that a reader would paste are in the pages that TestPages runs, and nowhere else.
func TestAllBlocksAreRun(t *testing.T) {
	t.Parallel()
	for _, path := range documents(t) {
		if slices.Contains(pages, path) || runElsewhere[path] != "" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		require.NoError(t, err)
		list, _ := blocks(string(text))
		for _, b := range list {
			if slices.Contains([]string{"sh", "sql", "bash", "shell", "console", "tsql"}, b.language) {
				t.Errorf("%s:%d: no test runs this block: add the page to pages", path, b.line)
			}
		}
	}
}
