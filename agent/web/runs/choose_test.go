package runs_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/browser"
)

// Rows are ticked by a click, by a range and by the keyboard, or all that match are chosen; the
// confirmation names as many as were chosen, and its button starts a run on them.
func TestChooseInGrid(t *testing.T) {
	testenv.Long(t)
	f := start(t)
	f.addJob(t, "j", 1, 0)
	list := names(400)
	run := f.queued(t, "j", list)
	f.pass(t, 400, list)
	f.complete(t, 400, func(i int, _ controldb.Task) controldb.Outcome {
		if i%10 == 0 {
			return controldb.Outcome{Outcome: targets.Failed, Message: "no"}
		}
		return controldb.Outcome{Outcome: targets.Succeeded}
	})
	f.pass(t, 1, list)
	b := browser.Open(t)
	for _, o := range []browser.Options{{Width: 1280, Height: 900}, {Width: 390, Height: 844, Dark: true}} {
		p, err := b.Page(o)
		require.NoError(t, err)
		require.NoError(t, p.SignIn(f.url, f.token))
		open := func() {
			t.Helper()
			require.NoError(t, p.Open(f.url+"/ui/main/runs/"+run.String()))
			require.NoError(t, p.Until(`document.querySelectorAll(".grid .row:not([hidden])").length > 10`))
		}
		says := func(text string) {
			t.Helper()
			require.NoError(t, p.Until(`document.getElementById("targets-chosen").textContent === `+quote(text)))
		}
		box := func(row int, shift string) {
			t.Helper()
			require.NoError(t, p.Eval(`(() => {
				const r = [...document.querySelectorAll(".grid .row:not([hidden])")].find((e) => e.getAttribute("aria-rowindex") === "`+string(rune('0'+row))+`");
				r.querySelector("input").dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, shiftKey: `+shift+` }));
			})()`, nil))
		}
		open()
		says("0 databases chosen")
		var disabled bool
		require.NoError(t, p.Eval(`[...document.querySelectorAll("#targets-bulk button")].every((b) => b.disabled)`, &disabled))
		assert.True(t, disabled, "nothing is chosen")
		box(2, "false")
		says("1 database chosen")
		box(5, "true")
		says("4 databases chosen")
		box(3, "false")
		says("3 databases chosen")
		require.NoError(t, p.Press("j"))
		require.NoError(t, p.Press(" "))
		says("2 databases chosen")
		accessible(t, p)
		require.NoError(t, p.Click(`#targets-bulk button[formaction]`))
		require.NoError(t, p.Until(`document.querySelector(".confirm")`))
		var title string
		require.NoError(t, p.Eval(`document.querySelector("h1").textContent`, &title))
		assert.Equal(t, "Start j on 2 chosen databases", title)
		accessible(t, p)

		// All that match a filter, but for one; another filter chooses nothing any more.
		open()
		require.NoError(t, p.Eval(`(() => {
			const state = document.querySelector("#targets-filter select[name=state]");
			state.value = "Failed";
			state.dispatchEvent(new Event("input", { bubbles: true }));
		})()`, nil))
		require.NoError(t, p.Until(`document.querySelector("[data-matches]").textContent === "40 databases"`))
		require.NoError(t, p.Click(`#targets-bulk input[name=all]`))
		says("40 databases chosen")
		box(2, "false")
		says("39 databases chosen")
		require.NoError(t, p.Click(`#targets-bulk button:not([formaction])`))
		require.NoError(t, p.Until(`document.querySelector(".confirm input[name=targets]")`))
		require.NoError(t, p.Eval(`document.querySelector("h1").textContent`, &title))
		assert.Equal(t, "Rerun j on 39 chosen databases", title)
		require.NoError(t, p.Click(`.confirm button[type=submit]`))
		require.NoError(t, p.Until(`document.querySelector("#run-head .facts")?.textContent.includes("limited to 39 chosen databases")`))

		open()
		require.NoError(t, p.Click(`#targets-bulk input[name=all]`))
		says("400 databases chosen")
		require.NoError(t, p.Type(`#targets-filter input[name="q"]`, "tenant00007"))
		says("0 databases chosen")
		assert.Empty(t, p.Problems())
		p.Close()
	}
}
