package runs_test

import (
	"bufio"
	"context"
	"fmt"
	"html"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/holds"
	"github.com/jobagent/jobagent/controldb/triggers"
	"github.com/jobagent/jobagent/targets"
)

// grid is what grid.js keeps: it takes answers and deltas in the same way.
type grid struct {
	mu      sync.Mutex
	Epoch   int64
	Version int64
	Targets [][3]string
	Texts   [][2]string
	Cells   map[[2]int][5]int // by row and step: state, attempts, start, end, text
	loads   int
}

// update is an answer of /cells, or an event "state" or "delta".
type update struct {
	Epoch, From, To        int64
	TargetsFrom, TextsFrom int
	Targets                *[][3]string
	Texts                  [][2]string
	Cells                  []int
	Load                   bool
}

func (g *grid) take(u update) {
	if u.Targets != nil {
		g.Targets = append(g.Targets[:u.TargetsFrom], *u.Targets...)
	}
	g.Texts = append(g.Texts[:min(len(g.Texts), u.TextsFrom)], u.Texts...)
	for c := u.Cells; len(c) > 0; c = c[7:] {
		g.Cells[[2]int{c[0], c[1]}] = [5]int(c[2:7])
	}
	g.Epoch, g.Version = u.Epoch, max(g.Version, u.To)
}

// load loads what the grid lacks.
func (g *grid) load(t testing.TB, f *fixture, c *http.Client, run uuid.UUID) {
	status, text := f.get(t, c, fmt.Sprintf("/runs/%s/cells?epoch=%d&since=%d&targets=%d&texts=%d", run, g.Epoch, g.Version, len(g.Targets), len(g.Texts)))
	require.Equal(t, http.StatusOK, status, text)
	u := decode[update](t, text)
	if u.Epoch != g.Epoch || u.From == 0 {
		g.Targets, g.Texts, g.Version, g.Cells = nil, nil, 0, map[[2]int][5]int{}
	}
	g.take(u)
	g.loads++
}

// follow reads the events of a run into a grid until ctx ends.
func (g *grid) follow(ctx context.Context, t testing.TB, f *fixture, c *http.Client, run uuid.UUID) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, f.url+"/ui/main/events?topic=run/"+run.String(), nil)
	if !assert.NoError(t, err) {
		return
	}
	a, err := c.Do(r)
	if !assert.NoError(t, err) {
		return
	}
	defer a.Body.Close()
	name := ""
	lines := bufio.NewScanner(a.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			name = rest
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || name != "delta" && name != "state" {
			continue
		}
		assert.Less(t, len(data), 50_000, "an update")
		u := decode[update](t, data)
		g.mu.Lock()
		switch {
		case name == "state" && (u.Epoch != g.Epoch || u.To > g.Version), u.Load, u.Epoch != g.Epoch, u.From > g.Version, u.TextsFrom > len(g.Texts):
			g.load(t, f, c, run)
		case name == "delta":
			g.take(u)
		}
		g.mu.Unlock()
	}
}

// truth returns the cells as the public view has them: state by step, server and database.
func (f *fixture) truth(t testing.TB, run uuid.UUID) map[string]string {
	t.Helper()
	rows, err := executions.On(f.store).Rows(t.Context(), run)
	require.NoError(t, err)
	m := map[string]string{}
	for _, e := range rows {
		if e.IsTarget() {
			m[fmt.Sprintf("%d %s", *e.StepID, e.Place())] = fmt.Sprintf("%s %d", e.Lifecycle, e.Attempts)
		}
	}
	return m
}

var stateNames = []string{"Created", "InProgress", "WaitingForRetry", "InProgress", "Succeeded", "SucceededWithSkipped", "Failed", "TimedOut", "Canceled", "Skipped"}

// seen returns the same of a grid.
func (g *grid) seen() map[string]string {
	g.mu.Lock()
	defer g.mu.Unlock()
	m := map[string]string{}
	for at, c := range g.Cells {
		target := g.Targets[at[0]]
		m[fmt.Sprintf("%d %s/%s", at[1]+1, target[0], target[1])] = fmt.Sprintf("%s %d", stateNames[c[0]&31], c[1])
	}
	return m
}

// A page that follows the events of a run sees what the control database has, whatever happens
// between two reads: retries, tasks that are handed back, a stop. Viewers who come later see the
// same.
func TestFollow(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.addJob(t, "j", 2, 2)
	list := names(300)
	run := f.startRun(t, "j")
	c := f.client(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first, late := &grid{Cells: map[[2]int][5]int{}}, &grid{Cells: map[[2]int][5]int{}}
	var wg sync.WaitGroup
	wg.Go(func() { first.follow(ctx, t, f, c, run) })
	check := func(g *grid, what string) {
		t.Helper()
		require.Eventually(t, func() bool { return assert.ObjectsAreEqual(f.truth(t, run), g.seen()) }, 15*time.Second, 50*time.Millisecond, what)
	}
	random := func(i int, task controldb.Task) controldb.Outcome {
		switch rand.IntN(6) {
		case 0:
			return controldb.Outcome{Outcome: targets.Failed, Message: fmt.Sprintf("no %d", i)}
		case 1:
			return controldb.Outcome{Outcome: targets.NotSent}
		case 2:
			return controldb.Outcome{Outcome: targets.Unknown, Message: "lost"}
		}
		return controldb.Outcome{Outcome: targets.Succeeded}
	}
	for range 20 {
		f.pass(t, rand.IntN(60), list)
		f.complete(t, rand.IntN(60), random)
		time.Sleep(time.Duration(rand.IntN(80)) * time.Millisecond)
	}
	check(first, "in flight")
	wg.Go(func() { late.follow(ctx, t, f, c, run) })
	for range 10 {
		f.pass(t, 100, list)
		f.complete(t, 100, succeeded)
	}
	check(late, "a later viewer")
	require.NoError(t, executions.On(f.store).Stop(t.Context(), run))
	f.complete(t, len(f.held), func(int, controldb.Task) controldb.Outcome { return controldb.Outcome{Outcome: targets.Canceled} })
	for range 3 {
		f.pass(t, 0, nil)
	}
	check(first, "stopped")
	check(late, "stopped")
	require.LessOrEqual(t, first.loads, 3, "the rest came as deltas")
	cancel()
	wg.Wait()
}

// What the page says of names and messages that are hostile, and with filters, without scripts.
func TestPage(t *testing.T) {
	t.Parallel()
	f := start(t)
	const job = "a/b <b>&\u202e'"
	// The procedures refuse the name, but jobs may be older than the rule.
	young := strings.ReplaceAll(job, "\u202e", "~")
	f.addJob(t, young, 2, 0)
	_, err := f.DB(t, f.control).ExecContext(t.Context(), "UPDATE j SET j.name = @p1 FROM jobs_internal.jobs AS j WHERE j.name = @p2;", job, young)
	require.NoError(t, err)
	c := f.client(t)
	run := f.startRun(t, job)
	path := "/runs/" + run.String()
	status, body := f.get(t, c, path)
	require.Equal(t, http.StatusOK, status, body)
	require.Contains(t, body, "The run has no targets yet.")
	require.NotContains(t, body, "<b>&")

	list := names(120)
	list[0].Server, list[0].Database = "evil<script>", "\u202edb\x07"
	for range 3 {
		f.pass(t, 200, list)
	}
	long := "<img src=x onerror=alert(1)>\u202e" + strings.Repeat("x", 8000)
	f.complete(t, 60, func(i int, task controldb.Task) controldb.Outcome {
		switch {
		case task.Target == list[0]:
			return controldb.Outcome{Outcome: targets.Failed, Message: long}
		case i%2 == 0:
			return controldb.Outcome{Outcome: targets.Failed, Message: fmt.Sprintf("Cannot open database \"%s\" (%d ms).", task.Target.Database, i), Error: targets.ErrorDetail{Number: 4060}}
		case i%20 == 1:
			return controldb.Outcome{Outcome: targets.Succeeded, Message: "The script left a transaction open (@@TRANCOUNT 1)."}
		}
		return controldb.Outcome{Outcome: targets.Succeeded}
	})
	time.Sleep(1100 * time.Millisecond) // what was read is used for a second
	status, body = f.get(t, c, path)
	require.Equal(t, http.StatusOK, status)
	require.NotContains(t, body, "<script>alert")
	require.NotContains(t, body, "<img")
	require.Contains(t, body, "evil&lt;script&gt;")
	require.Contains(t, body, "U+202E")
	require.Less(t, strings.Count(body, "xxxxxxxxxx"), 100, "the message is clipped")
	require.Equal(t, 1, strings.Count(body, "error 4060:"), "the same message once")
	require.Contains(t, body, `<data class="num" value="120">120</data> of <data class="num" value="120">120</data> targets`)
	require.Contains(t, body, `rel="next"`)
	require.Contains(t, body, "1 step 1")
	require.Regexp(t, `value="3">3</data>×</span> <span class="what"><bdi>The script left a transaction open \(@@TRANCOUNT 1\)\.`, body, "successes have remarks")
	require.NotContains(t, body, "succeeded execution", "what the state says anyway")

	key := body[strings.LastIndex(body[:strings.Index(body, "error 4060:")], "data-error=\"")+12:][:16]
	for query, want := range map[string]string{
		"error=" + key: "29", "state=Failed": "30", "state=unfinished": "60", "state=Failed&q=TENANT00002": "", "q=%3Cscript%3E": "1", "server=SQL03": "6",
		"step=2": "0", "step=1": "120", "state=nonsense": "0", "q=%27%22%25%00": "0", "after=119": "120", "after=9999999999999999999": "120", "after=500": "120",
	} {
		status, body := f.get(t, c, path+"?"+query)
		require.Equal(t, http.StatusOK, status, query)
		if want != "" {
			require.Contains(t, body, fmt.Sprintf(`<data class="num" value="%s">%[1]s</data> of`, want), query)
		}
	}
	for _, wrong := range []string{uuid.NewString(), "nonsense", "%2e%2e", strings.Repeat("x", 2000)} {
		status, _ := f.get(t, c, "/runs/"+wrong)
		require.Equal(t, http.StatusNotFound, status, wrong)
		status, _ = f.get(t, c, "/runs/"+wrong+"/cells")
		require.Equal(t, http.StatusNotFound, status, wrong)
	}

	// The run is purged while somebody looks at it.
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, f.url+"/ui/main/events?topic=run/"+run.String(), nil)
	require.NoError(t, err)
	a, err := c.Do(r)
	require.NoError(t, err)
	defer a.Body.Close()
	lines := bufio.NewScanner(a.Body)
	lines.Buffer(nil, 1<<20)
	until := func(text string) {
		for lines.Scan() {
			if lines.Text() == text {
				return
			}
		}
		require.Fail(t, "the stream ended without "+text)
	}
	until("event: state")
	require.NoError(t, executions.On(f.store).Stop(t.Context(), run))
	f.complete(t, len(f.held), succeeded)
	for range 3 {
		f.pass(t, 0, nil)
	}
	require.NoError(t, executions.On(f.store).Purge(t.Context(), executions.PurgeRequest{JobName: job}))
	until("event: gone")
	status, _ = f.get(t, c, path)
	require.Equal(t, http.StatusNotFound, status)
}

// The control database goes away while somebody looks: the stream says since when, and goes on by
// itself.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.addJob(t, "j", 1, 0)
	run := f.queued(t, "j", names(10))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, f.url+"/ui/main/events?topic=run/"+run.String(), nil)
	require.NoError(t, err)
	a, err := f.client(t).Do(r)
	require.NoError(t, err)
	defer a.Body.Close()
	lines := bufio.NewScanner(a.Body)
	lines.Buffer(nil, 1<<20)
	until := func(begin string) {
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), begin) {
				return
			}
		}
		require.Fail(t, "the stream ended without "+begin)
	}
	until("event: fresh")
	f.away.Store(true)
	until("event: stale")
	until(`data: {"age":`)
	f.complete(t, len(f.held), succeeded)
	f.away.Store(false)
	until("event: delta")
	until("event: fresh")
}

// The list of runs: filters, pages, wrong input.
func TestList(t *testing.T) {
	t.Parallel()
	f := start(t)
	c := f.client(t)
	_, body := f.get(t, c, "/runs")
	require.Contains(t, body, "No job has run yet.")
	f.addJob(t, "a", 1, 0)
	f.addJob(t, "b", 1, 0)
	for range 60 {
		f.startRun(t, "a")
	}
	one := f.startRun(t, "b")
	_, body = f.get(t, c, "/runs")
	require.Equal(t, 50, strings.Count(body, `<tr data-key=`))
	require.Contains(t, body, one.String())
	at := strings.Index(body, `rel="next" href="`) + len(`rel="next" href="/ui/main`)
	next := strings.ReplaceAll(body[at:][:strings.IndexByte(body[at:], '"')], "&amp;", "&")
	status, body := f.get(t, c, next)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, 11, strings.Count(body, `<tr data-key=`))
	for query, want := range map[string]int{
		"job=b": 1, "job=nothing": 0, "state=Active": 50, "state=Failed": 0, "state=Failed&job=a": 0, "from=2001-01-01": 50, "before=2001-01-01": 0,
		"before=2001-01-01T10:00": 0, "after=nonsense": 50, "state=%27": 0,
	} {
		status, body := f.get(t, c, "/runs?"+query)
		require.Equal(t, http.StatusOK, status, query)
		require.Equal(t, want, strings.Count(body, `<tr data-key=`), query)
	}
	_, body = f.get(t, c, "/runs?from=yesterday")
	require.Contains(t, body, "Invalid time")
}

// The page of a run has the run after which a trigger started it, and what its own end started.
func TestTriggeredRun(t *testing.T) {
	t.Parallel()
	f := start(t)
	c := f.client(t)
	for _, name := range []string{"load", "report", "idle"} {
		f.addJob(t, name, 1, 0)
	}
	require.NoError(t, triggers.On(f.store).Add(t.Context(), triggers.Spec{JobName: "report", Name: "nightly", Upstreams: []string{"load"}}))
	require.NoError(t, triggers.On(f.store).Add(t.Context(), triggers.Spec{JobName: "idle", Name: "both", Upstreams: []string{"load", "report"}}))
	load := f.startRun(t, "load")
	for range 3 {
		f.pass(t, 10, names(1))
	}
	_, body := f.get(t, c, "/runs/"+load.String())
	require.NotContains(t, body, "<dt>Then</dt>")
	require.NotContains(t, body, "<dt>After</dt>")
	f.complete(t, 1, succeeded)
	for range 3 {
		f.pass(t, 0, nil)
	}
	events, err := triggers.On(f.store).Events(t.Context(), triggers.EventFilter{UpstreamRun: load}, controldb.Page[int64]{})
	require.NoError(t, err)
	require.Len(t, events, 2)
	report := events[1].Run
	require.NotEqual(t, uuid.Nil, report)
	require.Eventually(t, func() bool { // what was read is used for a second
		_, body = f.get(t, c, "/runs/"+load.String())
		return strings.Contains(body, "<dt>Then</dt>")
	}, 20*time.Second, 50*time.Millisecond)
	require.Contains(t, body, `was started: <a class="mono" href="/ui/main/runs/`+report.String()+`">`)
	require.Contains(t, body, `/jobs/idle"><bdi>idle</bdi></a> waits to be started`)
	_, body = f.get(t, c, "/runs/"+report.String())
	require.Contains(t, body, "<dt>Started by</dt><dd><bdi>trigger nightly</bdi></dd>")
	require.Contains(t, body, `/jobs/load"><bdi>load</bdi></a>: <a class="mono" href="/ui/main/runs/`+load.String()+`">`)
	_, body = f.get(t, c, "/runs")
	require.Contains(t, body, "<bdi>trigger nightly</bdi>")

	require.NoError(t, triggers.On(f.store).Delete(t.Context(), "report", "nightly"))
	_, body = f.get(t, c, "/runs")
	require.Contains(t, body, "<bdi>a deleted trigger</bdi>")
}

// A target that a pause of its database holds says why, in the words of "execution explain", and
// says it again when another pause takes over.
func TestRowsOfHeldTargets(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.addJob(t, "j", 1, 0)
	list := names(3)
	for i := range list {
		list[i].ID = targets.TargetID(list[i].Server, list[i].Database)
	}
	pause := holds.Pause{Server: list[1].Server, Database: list[1].Database, Reason: "moves <away>", Target: list[1].ID}
	require.NoError(t, holds.On(f.store).SetPause(t.Context(), pause))
	run := f.queued(t, "j", list)
	f.pass(t, 10, nil)
	c := f.client(t)
	path := "/runs/" + run.String()
	_, body := f.get(t, c, path)
	require.Contains(t, body, "Waits because the database is paused by ")
	require.Contains(t, body, ": moves &lt;away&gt;.")
	_, found := f.get(t, c, path+"?q=moves")
	require.Contains(t, found, `<data class="num" value="1">1</data> of`)
	e, err := executions.On(f.store).Explain(t.Context(), run)
	require.NoError(t, err)
	i := slices.IndexFunc(e.Waits, func(w executions.Wait) bool { return w.For == "Pause" })
	require.GreaterOrEqual(t, i, 0)
	require.Contains(t, html.UnescapeString(body), "Waits because "+e.Waits[i].Text+".", "the same words")

	pause.Reason = "is restored"
	require.NoError(t, holds.On(f.store).SetPause(t.Context(), pause))
	require.Eventually(t, func() bool {
		_, body := f.get(t, c, path)
		return strings.Contains(body, ": is restored.") && !strings.Contains(body, "moves")
	}, 20*time.Second, 100*time.Millisecond)
	require.NoError(t, holds.On(f.store).Resume(t.Context(), pause.Server, pause.Database, pause.Target))
	f.pass(t, 10, nil)
	require.Eventually(t, func() bool {
		_, body := f.get(t, c, path)
		return !strings.Contains(body, "Waits because")
	}, 20*time.Second, 100*time.Millisecond)
}
