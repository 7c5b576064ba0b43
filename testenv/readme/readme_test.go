package readme

import (
	"bufio"
	"bytes"
	"database/sql"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	mssql "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/testenv/script"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// root is the repository, seen from this package.
const root = "../.."

// notRun lists the commands of README.md that the test does not run, by their beginning, with the
// reason.
var notRun = map[string]string{
	"go test ./...":                "this test is part of it",
	"jobagent action try":          "it calls a host of the internet",
	"jobagent dev --data devdata ": "the server of the first lines is still running",
	"jobagent dev --dev-issuer":    "the server of the first lines is still running",
	"jobagent import sql-agent":    "it reads the database msdb of SQL Server Agent, which the embedded server does not have",
}

// notRunText lists the T-SQL of README.md that the test leaves out of its block, with the reason.
var notRunText = map[string]string{
	"ALTER SERVER ROLE sysadmin DROP MEMBER jobuser;": "the login of this example is not a member, which is an error",
}

// exitCodes lists the commands that end with another exit code than 0 here, by their beginning.
var exitCodes = map[string]int{
	"jobagent doctor  ":           7, // no agent runs yet; with --targets, the code is 0
	"jobagent execution complete": 3, // the run of this README has no action that waits for a report
	"jobagent execution rerun":    6, // the run of this README succeeded: there is nothing to repeat
}

// files are the files that commands of README.md read.
var files = map[string]string{
	"azure.json":     "jobs/importer/testdata/azure.json",
	"sap.json":       "jobs/importer/testdata/sap.json",
	"month-end.json": `{"frequency": "month", "interval": 1, "schedule": {"monthDays": [-1], "hours": [2], "minutes": [0]}}`,
	"action.json":    `{"url": "https://example.com/done"}`,
	"load.sql":       `SELECT 1 AS loaded;`,
	"index.sql":      `SELECT 1 AS indexed;`,
	"clean.sql":      `SELECT 1 AS cleaned;`,
	"contoso.json":   `{"tenant": "contoso", "days": 30}`,
	"token.txt":      "hunter2\n",
	"holidays.json":  `{"dates": ["2027-01-01", "2027-12-25"]}`,
}

// block is a fenced block of a document.
type block struct {
	language, text string
	line           int // number of its first line in the document
}

// blocks returns the fenced blocks of a document, and its text without them.
func blocks(document string) (list []block, rest string) {
	var b strings.Builder
	inside := false
	for i, line := range strings.Split(document, "\n") {
		language, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && !inside:
			inside = true
			list = append(list, block{language: language, line: i + 2})
		case fence:
			inside = false
		case inside:
			list[len(list)-1].text += line + "\n"
		default:
			b.WriteString(line + "\n")
		}
	}
	return list, b.String()
}

// reader is a user who follows README.md: a work directory, a PATH with the installed binary, and a
// running `jobagent dev`.
type reader struct {
	dir     string
	path    string
	dev     *exec.Cmd
	address string // of dev
	front   string // address of dev's REST front
	run     string // ID of the first run
	exports string // the export commands so far
}

// TestReadme runs the fenced blocks of README.md in their order.
func TestReadme(t *testing.T) {
	document, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	r := &reader{dir: t.TempDir()}
	bin := filepath.Join(r.dir, "bin")
	r.path = bin + string(os.PathListSeparator) + os.Getenv("PATH")
	t.Setenv("PATH", r.path)
	t.Setenv("GOBIN", bin)
	for _, name := range []string{"JOBAGENT_DSN", "JOBAGENT_CONFIG"} {
		t.Setenv(name, "")
	}
	for name, content := range files {
		if data, err := os.ReadFile(filepath.Join(root, content)); err == nil {
			content = string(data)
		}
		require.NoError(t, os.WriteFile(filepath.Join(r.dir, name), []byte(content), 0o600))
	}
	defer r.stopDev(t)

	list, rest := blocks(string(document))
	for _, b := range list {
		switch b.language {
		case "sh":
			r.shell(t, b)
		case "sql":
			r.sql(t, b)
		case "json":
			r.config(t, b.text)
		default:
			t.Errorf("README.md:%d: no test for a block of %q", b.line, b.language)
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
		"go run ./cmd/jobagent", "jobagent", // linked once
	).Replace(text)
}

// shell runs the commands of a block, each in a shell of its own with the variables exported so
// far.
func (r *reader) shell(t *testing.T, b block) {
	t.Helper()
	number := b.line - 1
	var start string // of a command that goes on in the next line
	for line := range strings.SplitSeq(strings.TrimSpace(b.text), "\n") {
		number++
		line = start + line
		if start = ""; strings.HasSuffix(line, "\\") {
			start = strings.TrimSuffix(line, "\\")
			continue
		}
		if skipped, reason := lookUp(notRun, line); skipped {
			t.Logf("README.md:%d: not run, because %s: %s", number, reason, line)
			continue
		}
		command := r.replace(line)
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "export "):
			r.exports += command + "\n"
		case strings.HasPrefix(line, "go test "):
			t.Logf("README.md:%d: not run, because it takes minutes: %s", number, line)
			checkGoTest(t, number, line)
		case strings.Contains(line, "jobagent dev "):
			r.startDev(t, command)
		case strings.Contains(line, "jobagent run "):
			r.runAgent(t, command)
		default:
			if strings.HasPrefix(line, "go run ") {
				r.install(t)
			}
			_, want := lookUp(exitCodes, line)
			out, code := r.bash(t, command)
			require.Equal(t, want, code, "README.md:%d: %s\n%s", number, command, out)
		}
	}
}

// lookUp returns the entry whose key is the beginning of a command.
func lookUp[V any](entries map[string]V, command string) (found bool, value V) {
	for prefix, v := range entries {
		if strings.HasPrefix(command, prefix) {
			return true, v
		}
	}
	return false, value
}

// install installs the binary before the README does.
func (r *reader) install(t *testing.T) {
	t.Helper()
	out, code := r.bash(t, "go install ./cmd/jobagent")
	require.Zero(t, code, out)
}

// bash runs a command in the work directory, or in the repository if the command is one of the go
// tool.
func (r *reader) bash(t *testing.T, text string) (out string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-e", "-o", "pipefail", "-c", r.exports+text)
	cmd.Dir = r.dir
	if strings.HasPrefix(text, "go ") {
		cmd.Dir = root
	}
	output, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		require.NoError(t, err, text)
	}
	return string(output), cmd.ProcessState.ExitCode()
}

// start starts a command that runs until it is stopped, and returns it with the reader of its
// merged output.
func (r *reader) start(t *testing.T, text string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	cmd := exec.Command("bash", "-c", strings.Replace(text, "jobagent ", "exec jobagent ", 1))
	cmd.Dir = r.dir
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = cmd.Stdout
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, bufio.NewReader(stdout)
}

// stop sends SIGTERM, and requires that the process succeeds.
func stop(t *testing.T, cmd *exec.Cmd, output *bufio.Reader) {
	t.Helper()
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	var rest bytes.Buffer
	_, err := rest.ReadFrom(output)
	require.NoError(t, err)
	require.NoError(t, cmd.Wait(), rest.String())
}

// startDev starts `jobagent dev` on a free port.
func (r *reader) startDev(t *testing.T, command string) {
	t.Helper()
	var output *bufio.Reader
	r.dev, output = r.start(t, command+" --listen 127.0.0.1:0")
	var seen strings.Builder
	for r.address == "" || r.front == "" {
		line, err := output.ReadString('\n')
		seen.WriteString(line)
		require.NoError(t, err, seen.String())
		if m := regexp.MustCompile(`^ready .*@(127\.0\.0\.1:\d+)`).FindStringSubmatch(line); m != nil {
			r.address = m[1]
		}
		if m := regexp.MustCompile(`^rest https://(127\.0\.0\.1:\d+)`).FindStringSubmatch(line); m != nil {
			r.front = m[1]
		}
	}
	go func() { _, _ = io.Copy(io.Discard, output) }() // until the process ends
	master := r.open(t, "master")
	_, err := master.ExecContext(t.Context(), "CREATE DATABASE jobs")
	require.NoError(t, err)
}

// stopDev ends `jobagent dev`.
func (r *reader) stopDev(t *testing.T) {
	if r.dev == nil {
		return
	}
	require.NoError(t, r.dev.Process.Signal(syscall.SIGTERM))
	require.NoError(t, r.dev.Wait())
}

// runAgent runs an agent on the control database jobs until the agent has registered, and drops the
// database.
func (r *reader) runAgent(t *testing.T, command string) {
	t.Helper()
	cmd, output := r.start(t, r.exports+command)
	agents := r.open(t, "jobs")
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		var n int
		require.NoError(c, agents.QueryRowContext(t.Context(), "SELECT live_agents FROM jobs.live_agents").Scan(&n))
		require.Equal(c, 1, n)
	}, 30*time.Second, 50*time.Millisecond)
	stop(t, cmd, output)
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
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// sql runs a block of T-SQL in the control database of `jobagent dev`.
func (r *reader) sql(t *testing.T, b block) {
	t.Helper()
	text := r.replace(b.text)
	for part, reason := range notRunText {
		if strings.Contains(text, part) {
			t.Logf("README.md:%d: not run, because %s: %s", b.line, reason, part)
			text = strings.Replace(text, part, "", 1)
		}
	}
	lines := slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return strings.TrimSpace(line) == "" })
	path := filepath.Join(r.dir, "block.txt")
	require.NoError(t, os.WriteFile(path, []byte("# verified: no\n\nstatement ok\n"+strings.Join(lines, "\n")+"\n"), 0o600))
	script.Run(t, path, "embedded", func(t testing.TB, _ string) script.Session {
		return script.Connect(t, r.open(t, "jobagent"))
	})
	if r.run == "" {
		var id mssql.UniqueIdentifier
		query := "SELECT job_execution_id FROM jobs.job_executions WHERE step_id IS NULL AND job_name = N'create table'"
		require.NoError(t, r.open(t, "jobagent").QueryRowContext(t.Context(), query).Scan(&id))
		r.run = uuid.UUID(id).String()
		// A later block creates a control database. It must not become a target of this run.
		require.Eventually(t, func() bool {
			var active bool
			err := r.open(t, "jobagent").QueryRowContext(t.Context(), "SELECT is_active FROM jobs.job_executions WHERE step_id IS NULL AND job_execution_id = @p1", r.run).Scan(&active)
			return err == nil && !active
		}, 30*time.Second, 100*time.Millisecond)
	}
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
	dsn := r.replace("sqlserver://sa:Play-w1th-it@127.0.0.1:1433?database=jobagent&serverCertificate=devdata/server-certificate.pem")
	out, code := r.bash(t, "JOB_PASSWORD=x JOBAGENT_DSN='"+dsn+"' jobagent doctor --config "+path)
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
	if name[1] == "help" {
		out, code := r.bash(t, strings.Join(name, " "))
		require.Zero(t, code, out)
		require.NotContains(t, out, "Unknown help topic")
		return
	}
	out, code := r.bash(t, strings.Join(name, " ")+" --help")
	require.Zero(t, code, out)
	require.Contains(t, out, "  "+strings.Join(name, " ")+" ", "the help is that of the command")
	for _, word := range words {
		if strings.HasPrefix(word, "--") && word != "--help" {
			require.Regexp(t, word+"[ [=]", out, strings.Join(words, " ")) // a switch has [=true|false] behind its name
		}
	}
}

// checkGoTest checks that the package of a test command has the test and the flags of the command.
func checkGoTest(t *testing.T, number int, line string) {
	t.Helper()
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
				require.Contains(t, source.String(), "\nfunc "+name+"(", "README.md:%d", number)
			}
		case strings.HasPrefix(word, "-") && strings.Contains(word, "."):
			require.Contains(t, source.String(), `"`+word[1:]+`"`, "README.md:%d", number)
		}
	}
}

// TestLinks checks the links between documents: their files, and the headings that they name.
func TestLinks(t *testing.T) {
	var documents []string
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == ".git" { // a file in a work tree
			return fs.SkipDir
		}
		if strings.HasSuffix(path, ".md") {
			documents = append(documents, path)
		}
		return err
	})
	require.NoError(t, err)
	require.Greater(t, len(documents), 10)
	link := regexp.MustCompile(`\]\(([^)\s:]+)\)`)
	for _, path := range documents {
		text, err := os.ReadFile(filepath.Join(root, path))
		require.NoError(t, err)
		_, rest := blocks(string(text))
		for _, m := range link.FindAllStringSubmatch(rest, -1) {
			file, heading, named := strings.Cut(m[1], "#")
			other := path
			if file != "" {
				other = filepath.Join(filepath.Dir(path), file)
			}
			if !named {
				_, err := os.Stat(filepath.Join(root, other))
				require.NoError(t, err, "%s links %s", path, m[1])
				continue
			}
			linked, err := os.ReadFile(filepath.Join(root, other))
			require.NoError(t, err, "%s links %s", path, m[1])
			require.Contains(t, anchors(string(linked)), heading, "%s links %s", path, m[1])
		}
	}
}

// anchors returns the anchors of a document's headings, as GitHub makes them.
func anchors(document string) []string {
	_, rest := blocks(document)
	var list []string
	for _, line := range strings.Split(rest, "\n") {
		if !strings.HasPrefix(line, "#") {
			continue
		}
		heading := strings.ToLower(strings.TrimLeft(line, "# "))
		heading = regexp.MustCompile(`[^\p{L}\p{N}_ -]`).ReplaceAllString(heading, "")
		list = append(list, strings.ReplaceAll(heading, " ", "-"))
	}
	return list
}
