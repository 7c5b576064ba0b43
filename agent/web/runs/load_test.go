package runs_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv/browser"
)

var (
	load     = flag.Bool("web.load", false, "measure the page of a run with 10,000 targets")
	loadSize = flag.Int("web.load.targets", 10_000, "targets of the measured run")
	pictures = flag.String("web.pictures", "", "folder for pictures of the measured pages")
)

// outcome fails one target in 50, with one of three messages.
func outcome(_ int, task controldb.Task) controldb.Outcome {
	switch rand.IntN(150) {
	case 0:
		return controldb.Outcome{Outcome: targets.Failed, Message: fmt.Sprintf("Cannot open database \"%s\" requested by the login. The login failed.", task.Target.Database), Error: targets.ErrorDetail{Number: 4060}}
	case 1:
		return controldb.Outcome{Outcome: targets.Failed, Message: "Timeout expired. The timeout period elapsed prior to completion of the operation or the server is not responding.", Error: targets.ErrorDetail{Number: -2}}
	case 2:
		return controldb.Outcome{Outcome: targets.Failed, Message: "Invalid column name 'region'. <script>alert(1)</script> \u202eabc", Error: targets.ErrorDetail{Number: 207}}
	}
	return controldb.Outcome{Outcome: targets.Succeeded}
}

// play claims and completes targets at a rate until the context ends or the run has ended.
func (f *fixture) play(ctx context.Context, t testing.TB, perSecond int, list []targets.Target) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for idle := 0; ctx.Err() == nil && idle < 30; {
		n := f.pass(t, perSecond/10, list)
		if n == 0 && len(f.held) == 0 {
			idle++
		} else {
			idle = 0
		}
		f.complete(t, max(0, len(f.held)-perSecond/20), outcome)
		if n == 0 {
			f.complete(t, len(f.held), outcome)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// cpu returns the CPU time of this process.
func cpu(t testing.TB) time.Duration {
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// queued starts a run whose first step has n targets.
func (f *fixture) queued(t testing.TB, job string, list []targets.Target) uuid.UUID {
	t.Helper()
	run := f.startRun(t, job)
	for range 3 {
		f.pass(t, 1, list)
	}
	require.NotEmpty(t, f.held)
	return run
}

// viewers opens streams of a run, and returns the bytes that each has received.
func (f *fixture) viewers(ctx context.Context, t testing.TB, run uuid.UUID, n int) (received, deltas, largest *atomic.Int64, wait func()) {
	received, deltas, largest = &atomic.Int64{}, &atomic.Int64{}, &atomic.Int64{}
	var wg sync.WaitGroup
	var clients []*http.Client
	for range (n + 14) / 15 { // a session has a limit
		clients = append(clients, f.client(t))
	}
	for i := range n {
		wg.Go(func() {
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, f.url+"/ui/main/events?topic=run/"+run.String(), nil)
			if err != nil {
				t.Error(err)
				return
			}
			a, err := clients[i/15].Do(r)
			if err != nil {
				t.Error(err)
				return
			}
			defer a.Body.Close()
			if a.StatusCode != http.StatusOK {
				t.Errorf("status %d", a.StatusCode)
			}
			lines := bufio.NewScanner(a.Body)
			lines.Buffer(nil, 1<<20)
			for lines.Scan() {
				received.Add(int64(len(lines.Bytes())))
				if strings.HasPrefix(lines.Text(), `data: {"epoch"`) {
					deltas.Add(1)
					if size := int64(len(lines.Bytes())); size > largest.Load() {
						largest.Store(size)
					}
				}
			}
		})
	}
	return received, deltas, largest, wg.Wait
}

// The load of viewers on the control database and on the front: 100 viewers cost the database no
// more than one.
func TestLoad(t *testing.T) {
	if !*load {
		t.Skip("takes a minute; run with -web.load")
	}
	f := start(t)
	list := names(*loadSize)
	f.addJob(t, "load", 2, 0)
	for _, n := range []int{0, 1, 100, 500} {
		run := f.queued(t, "load", list)
		ctx, cancel := context.WithCancel(t.Context())
		received, deltas, largest, wait := f.viewers(ctx, t, run, n)
		time.Sleep(2 * time.Second)
		ended := make(chan struct{})
		playing, stop := context.WithCancel(t.Context())
		go func() { defer close(ended); f.play(playing, t, 1000, list) }()
		time.Sleep(time.Second)
		bytes, events, calls, used := received.Load(), deltas.Load(), f.reads.Load(), cpu(t)
		const span = 6 * time.Second
		time.Sleep(span)
		seconds := span.Seconds()
		each := float64(max(1, n))
		t.Logf("%3d viewers: %5.1f reads/s, %6.0f bytes/s each, %4.1f deltas/s each, largest delta %d bytes, CPU of front, agent and database %4.0f %%",
			n, float64(f.reads.Load()-calls)/seconds, float64(received.Load()-bytes)/each/seconds, float64(deltas.Load()-events)/each/seconds,
			largest.Load(), 100*(cpu(t)-used).Seconds()/seconds)
		stop()
		<-ended
		cancel()
		wait()
		require.NoError(t, executions.On(f.store).Stop(t.Context(), run))
		f.complete(t, len(f.held), succeeded)
		for range 5 {
			f.pass(t, 0, nil)
		}
	}
}

// The time of one read while 10,000 targets wait, and that a history does not change it.
func TestCost(t *testing.T) {
	if !*load {
		t.Skip("takes a minute; run with -web.load")
	}
	f := start(t)
	list := names(*loadSize)
	f.addJob(t, "load", 1, 0)
	measure := func(what string, run uuid.UUID) {
		const n = 20
		began, marks := time.Now(), 0
		for range n {
			state, err := executions.On(f.store).Get(t.Context(), run, executions.Marks)
			require.NoError(t, err)
			marks = len(state.Marks)
		}
		one := time.Since(began) / n
		ids := make([]int64, 500)
		rows, err := executions.On(f.store).TargetsOfStep(t.Context(), run, 1, 300)
		require.NoError(t, err)
		for i := range ids {
			ids[i] = rows[i].ID
		}
		began = time.Now()
		for range n {
			_, err := executions.On(f.store).TargetsByID(t.Context(), run, ids, 300)
			require.NoError(t, err)
		}
		t.Logf("%s: state %v with %d marks, 500 targets by id %v", what, one.Round(10*time.Microsecond), marks, (time.Since(began) / n).Round(10*time.Microsecond))
	}
	for i := range 5 {
		run := f.queued(t, "load", list)
		measure(fmt.Sprintf("%d runs before: all wait", i), run)
		f.pass(t, 500, nil)
		f.complete(t, 300, outcome)
		measure("                200 run", run)
		for len(f.held) > 0 || f.pass(t, 2000, nil) > 0 {
			f.complete(t, len(f.held), succeeded)
		}
		f.pass(t, 0, nil)
		measure("                ended", run)
	}
}

// How much slower passes and outcomes are while the run is viewed.
func TestPasses(t *testing.T) {
	if !*load {
		t.Skip("takes a minute; run with -web.load")
	}
	f := start(t)
	list := names(*loadSize)
	f.addJob(t, "load", 1, 0)
	total := map[int]time.Duration{}
	for round := range 4 {
		for _, n := range []int{0, 1, 100} {
			run := f.queued(t, "load", list)
			ctx, cancel := context.WithCancel(t.Context())
			_, _, _, wait := f.viewers(ctx, t, run, n)
			time.Sleep(500 * time.Millisecond)
			began := time.Now()
			for len(f.held) > 0 || f.pass(t, 100, nil) > 0 {
				f.complete(t, len(f.held), succeeded)
			}
			if round > 0 { // the first one fills caches
				total[n] += time.Since(began)
			}
			f.pass(t, 0, nil)
			cancel()
			wait()
		}
	}
	for _, n := range []int{0, 1, 100} {
		t.Logf("%3d viewers: %.0f targets/s", n, 3*float64(*loadSize)/total[n].Seconds())
	}
}

// The page in a browser: first paint, frames while scrolling, bytes of an update.
func TestBrowser(t *testing.T) {
	if !*load {
		t.Skip("takes a minute; run with -web.load")
	}
	f := start(t)
	list := names(*loadSize)
	f.addJob(t, "nightly <b>index</b> upkeep", 2, 1)
	run := f.queued(t, "nightly <b>index</b> upkeep", list)
	b := browser.Open(t)
	p, err := b.Page(browser.Options{Width: 1280, Height: 900})
	require.NoError(t, err)
	defer p.Close()
	require.NoError(t, p.SignIn(f.url, f.token))
	playing, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan struct{})
	go func() { defer close(ended); f.play(playing, t, 600, list) }()
	time.Sleep(3 * time.Second)
	page := f.url + "/ui/main/runs/" + run.String()
	for i := range 3 {
		require.NoError(t, p.Open(page))
		require.NoError(t, p.Until(`document.querySelector(".grid .row:not([hidden])")`))
		var paint struct{ FCP, Response, Grid float64 }
		require.NoError(t, p.Eval(`({FCP: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? -1, Response: performance.getEntriesByType("navigation")[0].responseEnd, Grid: performance.now()})`, &paint))
		t.Logf("load %d: first contentful paint %.0f ms, response %.0f ms, grid within %.0f ms, %d bytes", i, paint.FCP, paint.Response, paint.Grid, p.Received())
	}
	p.Events()
	var before, after string
	require.NoError(t, p.Eval(`document.querySelector("#run-head .progress p").textContent`, &before))
	time.Sleep(6 * time.Second)
	require.NoError(t, p.Eval(`document.querySelector("#run-head .progress p").textContent`, &after))
	t.Logf("%s -> %s", before, after)
	for name, bytes := range p.Events() {
		t.Logf("6 s of events %s: %d bytes", name, bytes)
	}
	for _, step := range []int{40, 400, 4000} {
		fps, longest, err := p.FrameRate(".grid", step, 3*time.Second)
		require.NoError(t, err)
		t.Logf("scrolling by %d px a frame, while updates come: %.0f frames/s, longest frame %v", step, fps, longest)
	}
	require.Empty(t, p.Problems())
	stop()
	<-ended
	fps, longest, err := p.FrameRate(".grid", 400, 3*time.Second)
	require.NoError(t, err)
	t.Logf("scrolling by 400 px a frame, without updates: %.0f frames/s, longest frame %v", fps, longest)
	if *pictures != "" {
		require.NoError(t, os.MkdirAll(*pictures, 0o755))
		for _, width := range []int64{1280, 390} {
			for _, dark := range []bool{false, true} {
				one, err := b.Page(browser.Options{Width: width, Height: 900, Dark: dark})
				require.NoError(t, err)
				require.NoError(t, one.SignIn(f.url, f.token))
				for name, path := range map[string]string{"run": "/runs/" + run.String(), "runs": "/runs", "failed": "/runs/" + run.String() + "?state=unsuccessful"} {
					require.NoError(t, one.Open(f.url+"/ui/main"+path))
					time.Sleep(time.Second)
					require.NoError(t, one.Picture(fmt.Sprintf("%s/%s-%d-%v.png", *pictures, name, width, dark)))
					require.Empty(t, one.Problems(), path)
				}
				one.Close()
			}
		}
	}
}
