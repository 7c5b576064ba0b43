package runs_test

import (
	"encoding/json"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv/browser"
)

// The grid in a browser: it follows the run, filters, and is used by the keyboard; neither the
// Content-Security-Policy nor axe-core has anything to say.
func TestGrid(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.addJob(t, "j", 2, 0)
	list := names(400)
	list[7].Database = "<img src=x onerror=alert(1)>\u202egnp"
	run := f.queued(t, "j", list)
	b := browser.Open(t)
	for _, o := range []browser.Options{{Width: 1280, Height: 900}, {Width: 390, Height: 844, Dark: true}} {
		p, err := b.Page(o)
		require.NoError(t, err)
		require.NoError(t, p.SignIn(f.url, f.token))
		require.NoError(t, p.Open(f.url+"/ui/main/runs/"+run.String()))
		require.NoError(t, p.Until(`document.querySelectorAll(".grid .row:not([hidden])").length > 10`))
		var head string
		require.NoError(t, p.Eval(`document.querySelector("#run-head .progress p").textContent`, &head))

		f.pass(t, 100, list)
		f.complete(t, 40, func(i int, task controldb.Task) controldb.Outcome {
			if i%2 == 0 {
				return controldb.Outcome{Outcome: targets.Failed, Message: "Cannot open \"" + task.Target.Database + "\"", Error: targets.ErrorDetail{Number: 4060}}
			}
			return controldb.Outcome{Outcome: targets.Succeeded}
		})
		require.NoError(t, p.Until(`document.querySelector(".grid .state.s-bad")`), "the grid follows")
		require.NoError(t, p.Until(`document.querySelector("#run-head .progress p").textContent !== `+quote(head)), "the head follows")

		require.NoError(t, p.Until(`document.querySelector("a[data-error]")`))
		require.NoError(t, p.Eval(`document.querySelector("a[data-error]").click()`, nil))
		require.NoError(t, p.Until(`/^\d+ of 400/.test(document.getElementById("targets-shown").textContent) && !document.getElementById("targets-shown").textContent.startsWith("400")`))
		require.NoError(t, p.Until(`location.search.startsWith("?error=")`), "the address has the filter")
		var rows int
		require.NoError(t, p.Eval(`Number(document.querySelector(".grid").getAttribute("aria-rowcount"))`, &rows))
		assert.Less(t, rows, 400)
		require.NoError(t, p.Eval(`document.querySelector("a[data-clear]").click()`, nil))
		require.NoError(t, p.Until(`document.getElementById("targets-shown").textContent.startsWith("400")`))

		require.NoError(t, p.Type(`#targets-filter input[name="q"]`, "onerror"))
		require.NoError(t, p.Until(`document.getElementById("targets-shown").textContent.startsWith("1 ")`))
		var name string
		require.NoError(t, p.Eval(`document.querySelector(".grid .row:not([hidden]) .name").textContent`, &name))
		assert.Contains(t, name, "<img src=x onerror=alert(1)>‹U+202E›gnp")
		require.NoError(t, p.Eval(`document.querySelector("a[data-clear]").click()`, nil))
		require.NoError(t, p.Until(`document.getElementById("targets-shown").textContent.startsWith("400")`))

		require.NoError(t, p.Eval(`document.querySelector(".grid").focus()`, nil))
		for range 30 {
			require.NoError(t, p.Press("j"))
		}
		require.NoError(t, p.Until(`document.querySelector("#grid-active")?.parentElement.getAttribute("aria-rowindex") === "32"`), "the row is in sight and active")
		// A filter by an event may come before the one by the form, which waits for more letters.
		// Keys pressed in between count.
		require.NoError(t, p.Eval(`(async () => {
			const q = document.querySelector("#targets-filter input[name=q]"), grid = document.querySelector(".grid"), shown = document.getElementById("targets-shown");
			q.value = "onerror";
			q.dispatchEvent(new Event("input", { bubbles: true }));
			document.dispatchEvent(new CustomEvent("live:state", { detail: { epoch: -1 } }));
			while (!shown.textContent.startsWith("1 ")) await new Promise((done) => setTimeout(done, 1));
			grid.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
			await new Promise((done) => setTimeout(done, 300));
		})()`, nil))
		require.NoError(t, p.Until(`document.querySelector("#grid-active")?.getAttribute("aria-colindex") === "2"`), "the key moved to the first step")
		require.NoError(t, p.Eval(`document.querySelector("a[data-clear]").click()`, nil))
		require.NoError(t, p.Until(`document.getElementById("targets-shown").textContent.startsWith("400")`))
		for range 30 {
			require.NoError(t, p.Press("j"))
		}
		var top float64
		require.NoError(t, p.Eval(`document.querySelector(".grid").scrollTop`, &top))
		assert.Positive(t, top)
		accessible(t, p)
		time.Sleep(200 * time.Millisecond)
		assert.Empty(t, p.Problems())
		p.Close()
	}

	// The list shows a run that begins, and has no fault either.
	p, err := b.Page(browser.Options{Width: 390, Height: 844})
	require.NoError(t, err)
	defer p.Close()
	require.NoError(t, p.SignIn(f.url, f.token))
	require.NoError(t, p.Open(f.url+"/ui/main/runs"))
	require.NoError(t, p.Until(`document.querySelectorAll("#runs-list tbody tr").length === 1`))
	id := f.startRun(t, "j")
	require.NoError(t, p.Until(`document.querySelectorAll("#runs-list tbody tr").length === 2`))
	require.NoError(t, p.Until(`document.querySelector("#runs-list tbody tr").dataset.key === `+quote(id.String())))
	accessible(t, p)
	assert.Empty(t, p.Problems())
}

// After a restart of a server that makes its keys anew, a page says that the person is signed out,
// and not that there is no news; a control database that is away is named.
func TestOldPagesSayWhy(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.addJob(t, "j", 1, 0)
	run := f.queued(t, "j", names(3))
	p, err := browser.Open(t).Page(browser.Options{})
	require.NoError(t, err)
	defer p.Close()
	require.NoError(t, p.SignIn(f.url, f.token))
	require.NoError(t, p.Open(f.url+"/ui/main/runs/"+run.String()))
	require.NoError(t, p.Until(`document.querySelectorAll(".grid .row:not([hidden])").length === 3`))
	f.away.Store(true)
	require.NoError(t, p.Until(`/^The control database cannot be read; no news since /.test(document.getElementById("news").textContent)`))
	f.away.Store(false)
	require.NoError(t, p.Until(`document.getElementById("news").textContent === ""`))
	f.restart()
	require.NoError(t, p.Until(`document.getElementById("news").textContent === "You are signed out. Sign in"`))
	require.NoError(t, p.Click(`#news a`))
	require.NoError(t, p.Until(`document.getElementById("token")`), "the link leads to the sign-in")
}

// accessible checks a page with axe-core. Only in CI must axe-core be there.
func accessible(t *testing.T, p *browser.Page) {
	t.Helper()
	found, err := p.Axe()
	if errors.Is(err, browser.ErrNoAxe) && os.Getenv("CI") == "" {
		t.Log(err)
		return
	}
	require.NoError(t, err)
	assert.Empty(t, found)
}

// quote returns a JavaScript string.
func quote(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(b)
}
