package job

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb/triggers"
)

// The tree shows what a job starts once, and a job that starts after several others below each.
func TestGraph(t *testing.T) {
	all := views([]triggers.Trigger{
		{JobName: "archive", Name: "done", Upstreams: []string{"mail"}, RunWhen: "Finished", Enabled: true},
		{JobName: "mail", Name: "both", Upstreams: []string{"clean", "report"}, RunWhen: "Succeeded", Enabled: true},
		{JobName: "mend", Name: "bad", Upstreams: []string{"load"}, RunWhen: "Failed"},
		{JobName: "other", Name: "x", Upstreams: []string{"apart"}, RunWhen: "Finished", Enabled: true},
		{JobName: "report", Name: "after", Upstreams: []string{"load"}, RunWhen: "Succeeded", Enabled: true},
	})
	require.Equal(t, `apart
└─ other  after apart ended (x)
clean
└─ mail  after clean and report succeeded (both)
   └─ archive  after mail ended (done)
load
├─ mend  after load failed (bad), disabled
└─ report  after load succeeded (after)
   └─ mail  after clean and report succeeded (both); what it starts is shown above
`, tree(newGraph(all, "")))
	require.Equal(t, `clean
└─ mail  after clean and report succeeded (both)
   └─ archive  after mail ended (done)
load
└─ report  after load succeeded (after)
   └─ mail  after clean and report succeeded (both); what it starts is shown above
`, tree(newGraph(all, "report")))
	require.Equal(t, []string{"archive", "clean", "load", "mail", "report"}, newGraph(all, "report").Jobs)
	require.Equal(t, []string{"load", "mend"}, newGraph(all, "mend").Jobs)
	require.Equal(t, []string{"alone"}, newGraph(all, "alone").Jobs)
	require.Contains(t, tree(newGraph(nil, "")), "no job starts after runs of others")

	all[3].JobName = `a "b" <c> #1`
	require.Equal(t, `flowchart LR
  j0["a #quot;b#quot; #lt;c#gt; #35;1"]
  j1["apart"]
  j1 -->|"Finished"| j0
`, mermaid(newGraph(all, "apart")))
}
