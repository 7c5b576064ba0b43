//go:build unix

package main

import (
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli/dev"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/contexts"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/browser"
)

// tenants is the number of tenants' databases of the afternoon.
const tenants = 12

// afternoon is what a person has who tries the program: a terminal and a browser.
type afternoon struct {
	t      *testing.T
	dev    *terminalCommand // jobagent dev
	data   string           // folder of jobagent dev
	dsn    string           // of the control database
	server string           // name of the embedded server
	p      *browser.Page
	base   string // of the pages of the control database
	first  string // ID of the run that failed
}

// do runs a command in a terminal, and requires its exit code and what the terminal shows
// of it. A tilde stands for a blank within an argument.
func (a *afternoon) do(code int, line string, texts ...string) string {
	a.t.Helper()
	var args []string
	for word := range strings.FieldsSeq(line) {
		args = append(args, strings.ReplaceAll(word, "~", " "))
	}
	c := startInTerminal(a.t, a.dsn, 160, 120, args...)
	got := c.code(a.t)
	screen := c.text()
	a.t.Logf("$ jobagent %s\n%s", line, screen)
	require.Equal(a.t, code, got, "%s\n%s", line, screen)
	for _, text := range texts {
		require.Contains(a.t, screen, text, line)
	}
	return screen
}

// see opens a page and waits for texts of it.
func (a *afternoon) see(path string, texts ...string) {
	a.t.Helper()
	require.NoError(a.t, a.p.Open(a.base+path), path)
	for _, text := range texts {
		require.NoError(a.t, a.p.Until(fmt.Sprintf("document.querySelector('main').innerText.includes(%q)", text)), "%s: %s", path, text)
	}
}

// lacks requires that the page that is open shows no button or link with this text.
func (a *afternoon) lacks(text string) {
	a.t.Helper()
	var found bool
	require.NoError(a.t, a.p.Eval(fmt.Sprintf("[...document.querySelectorAll('main a, main button')].some(e => e.textContent.trim() === %q)", text), &found))
	require.False(a.t, found, text)
}

var (
	exported   = regexp.MustCompile(`export (JOBAGENT_[A-Z]+)='?([^\s']+)`)
	signInLink = regexp.MustCompile(`https://\S+/login\?\S+`)
	runID      = regexp.MustCompile(`[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
)

// startAfternoon starts jobagent dev in a terminal, makes the databases, and signs in by the link
// that the terminal shows.
func startAfternoon(t *testing.T) *afternoon {
	t.Helper()
	b := browser.Open(t)
	a := &afternoon{t: t, data: t.TempDir()}
	text := a.serve("127.0.0.1:0", "127.0.0.1:0")
	for _, e := range exported.FindAllStringSubmatch(text, -1) {
		t.Setenv(e[1], e[2])
	}
	a.dsn = os.Getenv(config.EnvDSN)
	u, err := url.Parse(a.dsn)
	require.NoError(t, err)
	a.server = strings.Replace(u.Host, ":", ",", 1)
	a.exec("master", "SELECT 1;")
	for i := range tenants {
		name := fmt.Sprintf("Tenant%02d", i+1)
		a.exec("master", "CREATE DATABASE "+name+";")
		a.exec(name, "CREATE TABLE dbo.Orders (OrderID INT NOT NULL PRIMARY KEY, Total VARCHAR(100) NULL); INSERT INTO dbo.Orders VALUES (1, '19.90');")
	}
	link := signInLink.FindString(text)
	a.base = link[:strings.Index(link, "/login")] + "/" + embedded.ControlDatabase
	a.p, err = b.Page(browser.Options{Width: 1440})
	require.NoError(t, err)
	t.Cleanup(a.p.Close)
	require.NoError(t, a.p.Open(link))
	return a
}

// serve starts jobagent dev, and returns what the terminal shows.
func (a *afternoon) serve(listen, rest string) string {
	a.t.Helper()
	a.dev = startInTerminal(a.t, "", 400, 60, "dev", "--listen", listen, "--rest-listen", rest, "--data", a.data)
	return a.dev.await(a.t, "sign in once", "JOBAGENT_DSN", "sqlcmd -S")
}

// exec runs a batch in a database.
func (a *afternoon) exec(database, batch string) {
	a.t.Helper()
	u, err := url.Parse(a.dsn)
	require.NoError(a.t, err)
	q := u.Query()
	q.Set("database", database)
	u.RawQuery = q.Encode()
	db, err := sql.Open("sqlserver", u.String())
	require.NoError(a.t, err)
	defer func() { require.NoError(a.t, db.Close()) }()
	_, err = db.ExecContext(a.t.Context(), batch)
	require.NoError(a.t, err, batch)
}

// The first afternoon of a DBA with the program: everything that a person with many databases tries
// first, and the mistakes that such a person makes, in a terminal and in a browser.
func TestAfternoon(t *testing.T) {
	testenv.Long(t)
	t.Setenv(dev.EnvSAPassword, devPassword)
	t.Setenv(contexts.EnvFile, filepath.Join(t.TempDir(), "contexts.yaml"))
	a := startAfternoon(t)
	var mu sync.Mutex
	var told []string // bodies of notifications; guarded by mu
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		mu.Lock()
		defer mu.Unlock()
		told = append(told, string(body))
	}))
	defer hook.Close()
	a.do(0, `alert channel add hook Http {"url":"`+hook.URL+`/","allow_http":true}`)
	a.do(0, "alert rule add failed RunEnded --lifecycle Failed --channel hook")
	a.defines()
	a.fails()
	eventually(t, 30*time.Second, "the alert names the database and the error", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return slices.ContainsFunc(told, func(body string) bool { return strings.Contains(body, "Tenant03") && strings.Contains(body, "8114") })
	})
	a.mends()
	a.asks()
	a.finds()
	a.keeps()
	a.imports()
	a.restarts()
}

// defines makes a group with exclusions, and a job that nothing but a start starts.
func (a *afternoon) defines() {
	a.do(0, "target-group create tenants")
	a.do(0, "target-group add tenants --server "+a.server)
	a.do(0, "target-group add tenants --server "+a.server+" --database Tenant1? --exclude")
	a.do(0, "target-group add tenants --server "+a.server+" --database Tennant01 --exclude")
	a.do(0, "target-group resolve tenants", "Tenant1?: 3 databases", "Tennant01 excludes no database now", "Tenant09")
	a.do(0, "job create visit")
	a.do(0, "step add visit --target-group tenants --command SELECT~1;")
	a.do(2, "job enable visit", "enabling it would start a run now")
	a.do(0, "job list", "visit", "none")
	a.do(0, "execution list")
	a.see("/jobs/visit", "visit")
	a.lacks("Enable")
}

// fails lets the last of three steps fail on one database, and looks for it.
func (a *afternoon) fails() {
	a.exec("Tenant03", "UPDATE dbo.Orders SET Total = 'nineteen and many more words, so that the message is longer than a column of the page';")
	a.do(0, "job create totals")
	a.do(0, "step add totals --name prepare --target-group tenants --command SELECT~1;")
	a.do(0, "step add totals --name count --target-group tenants --command SELECT~1;")
	a.do(0, "step add totals --name totals --target-group tenants --command UPDATE~dbo.Orders~SET~OrderID=CAST(Total~AS~DECIMAL(9,2));")
	a.first = runID.FindString(a.do(7, "job start totals --wait", "Tenant03", "8114", "Failed"))
	a.do(0, "execution list --job totals", "Failed")
	a.do(0, "execution errors "+a.first, "8114")
	a.do(0, "execution targets "+a.first+" -o csv", "Tenant03", "8114")
	a.do(0, "execution logs "+a.first+" --step-id 3", "Tenant03", "Msg 8114")
	a.do(0, "execution logs "+a.first+" --step-id 3 -o csv", "message_kind", "8114")
	a.see("", "totals", "Error converting")
	a.see("/runs", a.first[:8], "8 of 9")
	a.see("/runs/"+a.first, "Tenant03", "Error converting")
}

// mends mends the script, and runs it again where it failed.
func (a *afternoon) mends() {
	a.do(0, "step update totals --step-id 3 --command UPDATE~dbo.Orders~SET~OrderID=TRY_CAST(Total~AS~DECIMAL(9,2))~WHERE~ISNUMERIC(Total)=1;")
	a.do(0, "execution rerun "+a.first+" --job-version current --wait", "Succeeded")
	a.do(0, "execution rerun "+a.first+" --job-version current --wait", "was rerun before", "Succeeded")
	a.see("", "Nothing failed")
	a.do(0, "job start totals --only-targets Tenant04,Tenant05 --wait", "on 2 chosen databases", "Succeeded")
	a.do(3, "job start totals --only-targets Tennant04", "Tennant04")
}

// asks sends wrong inputs, and inputs that other programs take.
func (a *afternoon) asks() {
	a.do(2, "help foo", "unknown command")
	a.do(0, "step update totals --step-id 3 --timeout 30m")
	a.do(0, "job parameter set visit tenant --type text --required")
	a.do(2, "job start visit", "missing parameters: tenant")
	a.do(0, "context add prod --dsn env:JOBAGENT_DSN --password-ref env:"+dev.EnvSAPassword+" --production")
	unattended := exec.CommandContext(a.t.Context(), os.Args[0], "job", "delete", "visit", "--context", "prod")
	unattended.Env = append(os.Environ(), envBeCommand+"=1")
	out, err := unattended.CombinedOutput()
	require.Equal(a.t, 2, unattended.ProcessState.ExitCode(), "%v\n%s", err, out)
	require.Contains(a.t, string(out), "--yes")
}

// finds asks what happened on one database, and finds a run by a part of its ID.
func (a *afternoon) finds() {
	a.see("/search?q=Tenant03", "Tenant03")
	a.see("/databases?group=tenants", "Tenant03")
	a.see("/search?q="+a.first[:8], "totals")
	a.do(0, "audit list --limit 5", "visit")
}

// keeps writes the definitions to files, and writes them again after a deletion.
func (a *afternoon) keeps() {
	dir := a.t.TempDir()
	a.do(0, "export --dir "+dir)
	a.do(0, "job delete visit --yes")
	a.do(1, "diff -f "+dir, "would create Job visit")
	a.do(0, "export --dir "+dir+" --prune --yes", "removed jobs/visit.yaml")
	a.do(0, "diff -f "+dir, "no differences")
}

// imports converts a job of SQL Server Agent, as SSMS writes it, which sends an e-mail if its first
// step fails.
func (a *afternoon) imports() {
	file := filepath.Join(a.t.TempDir(), "agent.sql")
	require.NoError(a.t, os.WriteFile(file, []byte(`USE [msdb]
GO
BEGIN TRANSACTION
DECLARE @ReturnCode INT
SELECT @ReturnCode = 0
DECLARE @jobId BINARY(16)
EXEC @ReturnCode = msdb.dbo.sp_add_job @job_name=N'etl', @enabled=1, @job_id = @jobId OUTPUT
IF (@@ERROR <> 0 OR @ReturnCode <> 0) GOTO QuitWithRollback
EXEC @ReturnCode = msdb.dbo.sp_add_jobstep @job_id=@jobId, @step_name=N'load', @step_id=1, @on_success_action=1, @on_fail_action=4, @on_fail_step_id=2,
		@subsystem=N'TSQL', @command=N'SELECT 1;', @database_name=N'Tenant01'
EXEC @ReturnCode = msdb.dbo.sp_add_jobstep @job_id=@jobId, @step_name=N'mail', @step_id=2, @on_success_action=2, @on_fail_action=2,
		@subsystem=N'TSQL', @command=N'SELECT 2;', @database_name=N'Tenant01'
EXEC @ReturnCode = msdb.dbo.sp_add_jobschedule @job_id=@jobId, @name=N'nightly', @enabled=1, @freq_type=4, @freq_interval=1, @active_start_time=20000
EXEC @ReturnCode = msdb.dbo.sp_add_jobserver @job_id = @jobId, @server_name = N'(local)'
COMMIT TRANSACTION
GOTO EndSave
QuitWithRollback:
    IF (@@TRANCOUNT > 0) ROLLBACK TRANSACTION
EndSave:
GO
`), 0o600))
	dir := filepath.Join(a.t.TempDir(), "imported")
	a.do(0, "import sql-agent "+file+" --server "+a.server+" --zone UTC --dir "+dir)
	a.do(0, "validate -f "+dir)
	a.do(0, "apply -f "+dir, "etl")
	a.do(0, "step list etl", "mail", "(step before) failed")
	a.do(0, "schedule list --job etl", "nightly")
	a.do(0, "job start etl --wait", "Succeeded")
}

// restarts ends jobagent dev by Ctrl-C, and starts it again: the browser stays signed in.
func (a *afternoon) restarts() {
	_, err := a.dev.tty.WriteString("\x03")
	require.NoError(a.t, err)
	require.Equal(a.t, 0, a.dev.code(a.t), a.dev.text())
	u, err := url.Parse(a.base)
	require.NoError(a.t, err)
	a.serve(strings.Replace(a.server, ",", ":", 1), u.Host)
	a.see("/runs/"+a.first, "Tenant03")
}
