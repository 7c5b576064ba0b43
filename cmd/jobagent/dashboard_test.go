package main

import (
	"cmp"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/jobs/manifest"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/browser"
)

// pictures is the folder for pictures of all pages of the dashboard, light and dark, at 1280 and
// 390 pixels; empty means none.
var pictures = flag.String("dashboard.pictures", "", "`folder` for pictures of all pages of the dashboard")

// shop is what the dashboard shows in tests: databases of a shop, and jobs over them.
type shop struct {
	t       *testing.T
	dev     *devProcess
	control *sql.DB
	b       *browser.Browser
	base    string // of the control database's pages
}

// shopDatabases is the number of databases of the shop. The table that the job changes is missing
// in one of them.
const (
	shopDatabases  = 24
	brokenDatabase = "Shop07"
)

// openShop starts `jobagent dev` with the databases and jobs of the shop, and a browser.
func openShop(t *testing.T) *shop {
	t.Helper()
	b := browser.Open(t)
	s := &shop{t: t, b: b, dev: startDev(t, t.TempDir(), "127.0.0.1:0")}
	master := s.dev.open(t, "master")
	for i := range shopDatabases {
		name := fmt.Sprintf("Shop%02d", i+1)
		s.exec(master, "CREATE DATABASE "+name+";")
		if name != brokenDatabase {
			s.exec(s.dev.open(t, name), "CREATE TABLE dbo.Orders (OrderID INT NOT NULL PRIMARY KEY, Total DECIMAL(12, 2) NULL); INSERT INTO dbo.Orders (OrderID) VALUES (1), (2), (3);")
		}
	}
	s.control = s.dev.open(t, embedded.ControlDatabase)
	text, err := os.ReadFile(filepath.Join("testdata", "shop.sql"))
	require.NoError(t, err)
	server := strings.Replace(s.dev.address, ":", ",", 1)
	for batch := range strings.SplitSeq(strings.ReplaceAll(string(text), "$(server)", server), "\nGO\n") {
		s.exec(s.control, batch)
	}
	s.base = "/ui/" + embedded.ControlDatabase
	return s
}

// exec runs a batch.
func (s *shop) exec(db *sql.DB, text string) {
	s.t.Helper()
	_, err := db.ExecContext(s.t.Context(), text)
	require.NoError(s.t, err, text)
}

// page opens a tab that is signed in.
func (s *shop) page(o browser.Options) *browser.Page {
	s.t.Helper()
	p, err := s.b.Page(o)
	require.NoError(s.t, err)
	s.t.Cleanup(p.Close)
	require.NoError(s.t, p.SignIn(s.dev.rest, s.dev.token))
	return p
}

// clean checks that the browser has reported nothing, and that axe-core finds nothing.
func (s *shop) clean(p *browser.Page, what string) {
	s.t.Helper()
	require.Empty(s.t, p.Problems(), what)
	findings, err := p.Axe()
	if errors.Is(err, browser.ErrNoAxe) && os.Getenv("CI") == "" {
		s.t.Log(err)
		return
	}
	require.NoError(s.t, err, what)
	for _, f := range findings {
		s.t.Errorf("%s: %s", what, f)
	}
	var wide bool
	require.NoError(s.t, p.Eval("document.documentElement.scrollWidth > document.documentElement.clientWidth", &wide))
	require.False(s.t, wide, "%s is wider than the window", what)
}

// follow clicks the link or button with a text, and waits for the page behind it.
func (s *shop) follow(p *browser.Page, text string) {
	s.t.Helper()
	require.NoError(s.t, p.Eval("window.stale = true", nil))
	script := fmt.Sprintf(`[...document.querySelectorAll('main a, main button')].find(e => e.offsetParent && e.textContent.trim() === %q)`, text)
	require.NoError(s.t, p.Until(script))
	require.NoError(s.t, p.Eval(script+".click()", nil))
	require.NoError(s.t, p.Until("!window.stale && document.readyState === 'complete'"))
}

// run returns the id of the latest run of a job.
func (s *shop) run(job string) (id string) {
	s.t.Helper()
	require.NoError(s.t, s.control.QueryRowContext(s.t.Context(),
		"SELECT TOP (1) LOWER(CAST(job_execution_id AS CHAR(36))) FROM jobs.job_executions WHERE job_name = @p1 AND step_id IS NULL ORDER BY create_time DESC;", job).Scan(&id))
	return id
}

// lifecycle returns the lifecycle of a run.
func (s *shop) lifecycle(run string) (lifecycle string) {
	s.t.Helper()
	require.NoError(s.t, s.control.QueryRowContext(s.t.Context(),
		"SELECT lifecycle FROM jobs.job_executions WHERE job_execution_id = @p1 AND step_id IS NULL;", run).Scan(&lifecycle))
	return lifecycle
}

// A person signs in, starts the job, watches the grid fill, opens the target that failed, mends it
// and runs it again. Then all pages are looked at, in both schemes and widths: no violation of the
// policy, no error of a script, nothing that axe-core finds, nothing wider than the window.
func TestDashboardInBrowser(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	s := openShop(t)
	p := s.page(browser.Options{})
	s.clean(p, "the overview before the first run")

	require.NoError(t, p.Open(s.dev.rest+s.base+"/jobs/Order%20totals"))
	s.follow(p, "Start")
	s.clean(p, "the form that starts a job")
	s.follow(p, "Start the job")
	run := s.run("Order totals")
	var path string
	require.NoError(t, p.Eval("location.pathname", &path))
	require.Equal(t, s.base+"/runs/"+run, path)
	// The page shows the end of the run without a reload.
	require.NoError(t, p.Until("document.querySelector('main').textContent.includes('Failed')"))
	require.NoError(t, p.Until(fmt.Sprintf("document.querySelector('main').textContent.includes(%q)", brokenDatabase)))
	s.clean(p, "the run")

	require.NoError(t, p.Until(fmt.Sprintf("document.querySelector('main a[href*=\"/targets/\"]') && document.querySelector('main').textContent.includes(%q)", "Invalid object name")))
	eventually(t, 30*time.Second, "the run ends", func() bool { return s.lifecycle(run) == "Failed" })
	require.NoError(t, p.Open(s.dev.rest+s.base+"/runs/"+run+"?state=Failed"))
	require.NoError(t, p.Wait(`main a[href*="/targets/"]`))
	require.NoError(t, p.Click(`main a[href*="/targets/"]`))
	require.NoError(t, p.Until("location.pathname.includes('/targets/') && document.querySelector('main').textContent.includes('Invalid object name')"))
	s.clean(p, "the target that failed")

	s.exec(s.dev.open(t, brokenDatabase), "CREATE TABLE dbo.Orders (OrderID INT NOT NULL PRIMARY KEY, Total DECIMAL(12, 2) NULL);")
	require.NoError(t, p.Open(s.dev.rest+s.base+"/runs/"+run))
	s.follow(p, "Rerun what failed")
	s.clean(p, "the form of a rerun")
	s.follow(p, "Start the rerun")
	rerun := s.run("Order totals")
	require.NotEqual(t, run, rerun)
	require.NoError(t, p.Until("document.querySelector('main').textContent.includes('Succeeded')"))
	eventually(t, 30*time.Second, "the rerun ends", func() bool { return s.lifecycle(rerun) == "Succeeded" })
	s.clean(p, "the rerun")

	var target string
	require.NoError(t, s.control.QueryRowContext(t.Context(),
		"SELECT LOWER(CAST(target_id AS CHAR(36))) FROM jobs.job_executions WHERE job_execution_id = @p1 AND step_id = 1 AND target_database_name = @p2;", run, brokenDatabase).Scan(&target))
	var alert int
	eventually(t, 30*time.Second, "the alert about the paused schedule", func() bool {
		return s.control.QueryRowContext(t.Context(), "SELECT alert_id FROM jobs.alerts WHERE alert_name = N'A schedule is paused' AND state = N'Open';").Scan(&alert) == nil
	})
	s.ask(p)
	s.look(run, rerun, target, alert)
}

// ask asks a question, whose page shows its end and the answers without a reload by the test.
func (s *shop) ask(p *browser.Page) {
	s.t.Helper()
	s.exec(s.control, "EXECUTE jobs.sp_set_setting N'questions', 1;")
	require.NoError(s.t, p.Open(s.dev.rest+s.base+"/questions"))
	s.follow(p, "Ask a question")
	require.NoError(s.t, p.Eval("document.querySelector('[name=target_group]').value = 'Shops'", nil))
	require.NoError(s.t, p.Type("[name=question]", "WAITFOR DELAY '00:00:02'; SELECT DB_NAME() AS answered, 42 AS n"))
	s.follow(p, "Ask")
	require.NoError(s.t, p.Until("document.querySelector('main').textContent.includes('so far')"))
	s.clean(p, "a question that is being asked")
	require.NoError(s.t, p.Until("document.querySelectorAll('table.answers tbody tr').length > 1"))
	s.clean(p, "a question with its answers")
}

// equivalents checks the commands that a page shows to copy: those of the command line exist and
// take the arguments, and T-SQL runs. What actions show runs in a transaction that is rolled back.
func (s *shop) equivalents(p *browser.Page, path string) {
	s.t.Helper()
	var list [][2]string
	require.NoError(s.t, p.Eval("[...document.querySelectorAll('.equivalent')].map(e => [e.querySelector('h3').textContent, e.querySelector('code').textContent])", &list))
	for i, e := range list {
		switch e[0] {
		case page.DoorCLI:
			out, err := exec.CommandContext(s.t.Context(), "bash", "-c", `printf '%s\0' `+e[1]).Output()
			require.NoError(s.t, err, e[1])
			args := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
			require.Equal(s.t, "jobagent", args[0])
			require.NoError(s.t, cli.Check(args[1:]), "%s: %s", path, e[1])
		case page.DoorPowerShell: // the same arguments in other quotes
		case page.DoorFile:
			_, err := manifest.Load(manifest.Input{Text: []byte(e[1]), Display: path})
			require.NoError(s.t, err, e[1])
		case page.DoorTargets:
			for line := range strings.Lines(e[1]) {
				require.NoError(s.t, uuid.Validate(strings.TrimSpace(line)))
			}
		case page.DoorTSQL:
			tx, err := s.control.BeginTx(s.t.Context(), nil)
			require.NoError(s.t, err)
			_, err = tx.ExecContext(s.t.Context(), e[1])
			require.NoError(s.t, err, "%s: %s", path, e[1])
			require.NoError(s.t, tx.Rollback())
			if *pictures != "" {
				name := fmt.Sprintf("%s-%d.sql", strings.Trim(url.PathEscape(path), "%2F"), i)
				require.NoError(s.t, os.WriteFile(filepath.Join(*pictures, name), []byte(e[1]), 0o600))
			}
		default:
			s.t.Fatalf("%s shows a command of an unknown door %q", path, e[0])
		}
	}
}

// rollOut starts the roll-out of a job, which then waits for an approval, and one that ends.
func (s *shop) rollOut() (id, ended string) {
	s.t.Helper()
	ended = "7d3a9c51-20be-4f0c-8a6e-3b1f9d24c6e8"
	s.exec(s.control, `EXEC jobs.sp_add_job @job_name = N'Drop a column';
EXEC jobs.sp_add_jobstep @job_name = N'Drop a column', @step_name = N'Column', @target_group_name = N'Shops', @command = N'SELECT 2;';
EXEC jobs.sp_add_job @job_name = N'Add a column';
EXEC jobs.sp_add_jobstep @job_name = N'Add a column', @step_name = N'Column', @target_group_name = N'Shops', @command = N'SELECT 1;';
EXEC jobs.sp_set_job_rollout @job_name = N'Add a column', @plan = N'{"waves": [
    {"name": "canaries", "targets": 3}, {"name": "rest", "targets": "rest"}], "undo_job": "Drop a column"}';
EXEC jobs.sp_start_job @job_name = N'Add a column', @job_execution_id = '`+ended+`';`)
	s.rolledOut(ended, "Succeeded")
	id = "0b7e2f4c-6a35-4d0e-9a51-5f2d8c1e7a90"
	s.exec(s.control, `EXEC jobs.sp_add_job @job_name = N'Add an index';
EXEC jobs.sp_add_jobstep @job_name = N'Add an index', @step_name = N'Index', @target_group_name = N'Shops', @command = N'SELECT 1;';
EXEC jobs.sp_set_job_rollout @job_name = N'Add an index', @plan = N'{"waves": [
    {"name": "canaries", "targets": 3, "order": "name"},
    {"name": "a third of all <shops>", "targets": "30%", "approval": "any", "bake_seconds": 3600, "max_failed": "10%", "parallelism": 4},
    {"name": "rest", "targets": "rest", "approval": "other", "pace": 100}], "deadline_seconds": 86400}';
EXEC jobs.sp_start_job @job_name = N'Add an index', @job_execution_id = '`+id+`';`)
	s.rolledOut(id, "WaitingForApproval")
	return id, ended
}

// rolledOut waits until a roll-out has a state.
func (s *shop) rolledOut(id, state string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		var n int
		err := s.control.QueryRowContext(s.t.Context(), "SELECT COUNT(*) FROM jobs.rollouts WHERE job_execution_id = '"+id+"' AND state = N'"+state+"';").Scan(&n)
		require.NoError(s.t, err)
		return n == 1
	}, 30*time.Second, 50*time.Millisecond)
}

// compare runs a job that compares the schemas of the shops, one of which differs, and adds data
// for the pages of schemas, windows and triggers.
func (s *shop) compare() {
	s.t.Helper()
	s.exec(s.dev.open(s.t, "Shop03"), "CREATE INDEX IX_Orders_Total ON dbo.Orders (Total);")
	s.exec(s.control, `EXEC jobs.sp_add_job @job_name = N'Schemas';
EXEC jobs.sp_add_jobstep @job_name = N'Schemas', @step_name = N'Read', @target_group_name = N'Shops', @command_type = N'Drift', @command = N'{"against":"none"}';
EXEC jobs.sp_add_jobstep @job_name = N'Schemas', @step_name = N'Compare', @target_group_name = N'Shops', @command_type = N'Drift', @retry_attempts = 0,
    @command = N'{"against":"majority"}';
EXEC jobs.sp_add_job_trigger @job_name = N'Schemas', @trigger_name = N'after the totals', @upstream_jobs = N'["Order totals"]', @enabled = 0;
EXEC jobs.sp_add_job @job_name = N'Report of <schemas>';
EXEC jobs.sp_add_job_trigger @job_name = N'Report of <schemas>', @trigger_name = N'both', @upstream_jobs = N'["Order totals","Schemas"]', @enabled = 0;
EXEC jobs.sp_add_calendar @calendar_name = N'nights', @spec = N'{"timeZone":"Europe/Berlin","weekly":[{"day":"saturday","from":"22:00","to":"05:00"}]}';
EXEC jobs.sp_set_target_window @window_name = N'Gold at night', @calendar_name = N'nights', @tag_filter = N'tier = ''gold''';
EXEC jobs.sp_pause_target @server_name = N'away.example', @database_name = N'Shop99', @reason = N'moves to another server', @end_time = N'2999-01-01';
EXEC jobs.sp_start_job @job_name = N'Schemas';`)
	require.Eventually(s.t, func() bool { // agents register the databases of a group some seconds later
		var n int
		require.NoError(s.t, s.control.QueryRowContext(s.t.Context(), `SELECT COUNT(*) FROM jobs.drift_history AS h
WHERE EXISTS (SELECT 1 FROM jobs.target_group_targets AS g WHERE g.target_group_name = N'Shops' AND g.target_id = h.target_id);`).Scan(&n))
		return n == 24 && s.lifecycle(s.run("Schemas")) == "Failed"
	}, 60*time.Second, 100*time.Millisecond)
	s.exec(s.control, `DECLARE @id UNIQUEIDENTIFIER = (SELECT h.target_id FROM jobs.drift_history AS h WHERE h.database_name = N'Shop01');
EXEC jobs.sp_set_drift_baseline @baseline_name = N'release 7', @target_id = @id;`)
}

// look opens all pages in both schemes and widths.
func (s *shop) look(run, rerun, target string, alert int) {
	s.t.Helper()
	rollout, ended := s.rollOut()
	s.compare()
	paths := []string{
		"", "/rollouts", "/rollouts/" + rollout, "/rollouts/" + rollout + "/approve", "/rollouts/" + rollout + "/skip",
		"/rollouts/" + ended, "/rollouts/" + ended + "/undo", "/runs/" + rollout, "/runs", "/runs/" + run, "/runs/" + run + "/targets/" + target, "/runs/" + run + "/tree", "/runs/" + run + "/timeline",
		"/runs/" + rerun + "/compare?with=" + run, "/jobs", "/jobs/Order%20totals", "/jobs/Order%20totals/versions/1",
		"/jobs/Order%20totals/diff?from=1&to=2", "/groups", "/groups/Shops", "/databases",
		"/drift", "/jobs/Schemas/drift", "/jobs/Schemas", "/databases/" + target + "/baseline", "/drift-baselines/release%207/delete", "/windows", "/windows/pause", "/windows/Gold%20at%20night/edit",
		"/windows/Gold%20at%20night/delete", "/triggers", "/jobs/Schemas/add-trigger", "/jobs/Schemas/triggers/after%20the%20totals/delete",
		"/databases?group=Shops&lacking=1", "/databases/" + target, "/search?q=Order", "/schedules", "/schedules/Order%20totals/nightly",
		"/questions", "/questions/1", "/questions/ask?like=1", "/agents", "/limits", "/alerts", "/audit", "/jobs/Order%20totals/start", "/runs/" + run + "/rerun", "/schedules/Order%20totals/nightly/pause",
		"/schedules/Order%20totals/nightly/backfill", fmt.Sprintf("/alerts/%d", alert), fmt.Sprintf("/alerts/%d/acknowledge", alert),
	}
	for _, width := range []int64{1280, 390} {
		for _, dark := range []bool{false, true} {
			if *pictures == "" && dark != (width == 390) {
				continue // two of the four, to save time
			}
			scheme := map[bool]string{false: "light", true: "dark"}[dark]
			p := s.page(browser.Options{Width: width, Dark: dark, Locale: "de-DE", TimeZone: "Europe/Berlin"})
			for _, path := range paths {
				what := fmt.Sprintf("%s at %d, %s", path, width, scheme)
				require.NoError(s.t, p.Open(s.dev.rest+s.base+path), what)
				var status int
				require.NoError(s.t, p.Eval("performance.getEntriesByType('navigation')[0].responseStatus", &status))
				require.Equal(s.t, 200, status, what)
				s.clean(p, what)
				if width == 1280 {
					s.equivalents(p, path)
				}
				if *pictures != "" {
					name := strings.Join(slices.DeleteFunc(strings.FieldsFunc(
						strings.NewReplacer(run, "run", rollout, "rollout", ended, "ended", rerun, "rerun", target, "target", "Order%20totals", "job", "?", "/", "&", "/", "=", "-").Replace(path),
						func(r rune) bool { return r == '/' }), func(part string) bool { return part == "" }), "-")
					require.NoError(s.t, p.Picture(filepath.Join(*pictures, fmt.Sprintf("%s-%d-%s.png", cmp.Or(name, "overview"), width, scheme))))
				}
			}
			p.Close()
		}
	}
}
