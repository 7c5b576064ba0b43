package runs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/browser"
)

// Each cell of the grid begins where the header of its column begins, whatever the cells contain,
// and the last column ends where the grid's content ends.
func TestGridColumns(t *testing.T) {
	testenv.Long(t)
	f := start(t)
	b := browser.Open(t)
	long := strings.Repeat("Arithmetic overflow error converting numeric to data type numeric. ", 5)
	for steps, widths := range map[int][]int64{1: {1440}, 3: {390, 768, 1280, 1440, 1920}, 12: {390, 1920}} {
		job := fmt.Sprintf("columns %d", steps)
		f.addJob(t, job, steps, 0)
		run := f.queued(t, job, names(3))
		for range steps {
			f.pass(t, 100, names(3))
			f.complete(t, 3, func(i int, task controldb.Task) controldb.Outcome {
				return controldb.Outcome{Outcome: targets.Succeeded, Message: strings.Repeat(long, i%2) + "done"}
			})
			f.pass(t, 100, names(3))
		}
		for _, width := range widths {
			p, err := b.Page(browser.Options{Width: width, Height: 900})
			require.NoError(t, err)
			require.NoError(t, p.SignIn(f.url, f.token))
			require.NoError(t, p.Open(f.url+"/ui/main/runs/"+run.String()))
			require.NoError(t, p.Until(`document.querySelectorAll(".grid .row:not([hidden])").length === 3`))
			var wrong []string
			require.NoError(t, p.Eval(`(() => {
				const edges = (row) => [...row.children].map((e) => e.getBoundingClientRect()).flatMap((r) => [Math.round(r.left), Math.round(r.right)]).join(" ");
				const head = edges(document.querySelector(".grid .head"));
				return [...document.querySelectorAll(".grid .row:not([hidden])")].map(edges).filter((row) => row !== head).map((row) => head + " / " + row);
			})()`, &wrong))
			assert.Empty(t, wrong, "edges of the header / of a row, %d steps, %d px", steps, width)
			var spare float64
			require.NoError(t, p.Eval(`(() => {
				const grid = document.querySelector(".grid"), rows = document.querySelectorAll(".grid .row:not([hidden])");
				return grid.getBoundingClientRect().bottom - rows[rows.length - 1].getBoundingClientRect().bottom;
			})()`, &spare))
			assert.Less(t, spare, 40.0, "empty space below three targets, %d steps, %d px", steps, width)
			p.Close()
		}
	}
}
