package job

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/lookup"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/triggers"
)

// newGraphCommand returns `jobagent job graph`.
func newGraphCommand(a *connect.App) *cobra.Command {
	var form string
	cmd := &cobra.Command{
		Use: "graph [JOB]", Short: "Show which jobs start after runs of which others", Args: cobra.MaximumNArgs(1),
		Long: `Show which jobs start after runs of which others (jobagent job trigger), as a tree: the jobs below a job start after its runs.
A job that starts after several others is shown below each of them, and what it starts only once. With JOB, only the
jobs that lead to it and that follow from it. --as mermaid prints a diagram for Markdown.`,
		Example: "  jobagent job graph\n  jobagent job graph report --as mermaid",
		RunE: a.Reads(func(cmd *cobra.Command, args []string, store *controldb.Store) error {
			name := ""
			if len(args) > 0 {
				job, err := lookup.Job(cmd.Context(), store, args[0])
				if err != nil {
					return err
				}
				name = job.Name
			}
			list, err := triggers.On(store).Triggers(cmd.Context(), "")
			if err != nil {
				return err
			}
			g := newGraph(views(list), name)
			return a.Emit(g, func(w io.Writer) error {
				text := tree(g)
				if form == "mermaid" {
					text = mermaid(g)
				}
				_, err := io.WriteString(w, text)
				return err
			})
		}),
	}
	cmd.Flags().StringVar(&form, "as", "tree", "tree, or mermaid: a diagram for Markdown")
	return cmd
}

// newGraph returns the graph of some triggers. With the name of a job, it has only those that lead
// to it, or follow from it.
func newGraph(list []output.JobTrigger, job string) output.JobGraph {
	if job != "" {
		list = append(reached(list, job, true), reached(list, job, false)...)
	}
	g := output.JobGraph{Jobs: []string{}, Triggers: list}
	if job != "" {
		g.Jobs = append(g.Jobs, job)
	}
	for _, t := range list {
		g.Jobs = append(append(g.Jobs, t.JobName), t.Upstreams...)
	}
	slices.Sort(g.Jobs)
	g.Jobs = slices.Compact(g.Jobs)
	return g
}

// reached returns the triggers that lead to a job, or those that follow from it, in their order.
func reached(list []output.JobTrigger, job string, leading bool) []output.JobTrigger {
	jobs := map[string]bool{job: true}
	taken := make([]bool, len(list))
	for again := true; again; {
		again = false
		for i, t := range list {
			switch {
			case taken[i]:
				continue
			case leading && jobs[t.JobName]:
				for _, u := range t.Upstreams {
					jobs[u] = true
				}
			case !leading && slices.ContainsFunc(t.Upstreams, func(u string) bool { return jobs[u] }):
				jobs[t.JobName] = true
			default:
				continue
			}
			taken[i], again = true, true
		}
	}
	found := []output.JobTrigger{}
	for i, t := range list {
		if taken[i] {
			found = append(found, t)
		}
	}
	return found
}

// tree draws a graph as text.
func tree(g output.JobGraph) string {
	if len(g.Triggers) == 0 {
		return "no job starts after runs of others: jobagent job trigger add JOB TRIGGER --after JOB lets one do so\n"
	}
	var b strings.Builder
	drawn := map[string]bool{}
	var below func(job, indent string)
	below = func(job, indent string) {
		drawn[job] = true
		var list []output.JobTrigger
		for _, t := range g.Triggers {
			if slices.Contains(t.Upstreams, job) {
				list = append(list, t)
			}
		}
		for i, t := range list {
			branch, more := "├─ ", "│  "
			if i == len(list)-1 {
				branch, more = "└─ ", "   "
			}
			text := fmt.Sprintf("%s  %s (%s)", t.JobName, t.Describe(), t.Name)
			if !t.Enabled {
				text += ", disabled"
			}
			if drawn[t.JobName] && slices.ContainsFunc(g.Triggers, func(o output.JobTrigger) bool { return slices.Contains(o.Upstreams, t.JobName) }) {
				text += "; what it starts is shown above"
			}
			b.WriteString(indent + branch + output.OneLine(text) + "\n")
			if !drawn[t.JobName] {
				below(t.JobName, indent+more)
			}
		}
	}
	for _, job := range g.Jobs {
		if !slices.ContainsFunc(g.Triggers, func(t output.JobTrigger) bool { return t.JobName == job }) {
			b.WriteString(output.OneLine(job) + "\n")
			below(job, "")
		}
	}
	return b.String()
}

// mermaid draws a graph as a flowchart of Mermaid. An entity stands for each character that would
// end a text, or begin an entity or a tag.
func mermaid(g output.JobGraph) string {
	escape := strings.NewReplacer("#", "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "&", "#amp;", "`", "#96;")
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	for i, job := range g.Jobs {
		fmt.Fprintf(&b, "  j%d[\"%s\"]\n", i, escape.Replace(output.OneLine(job)))
	}
	for _, t := range g.Triggers {
		arrow := "-->"
		if !t.Enabled {
			arrow = "-.->"
		}
		for _, u := range t.Upstreams {
			fmt.Fprintf(&b, "  j%d %s|\"%s\"| j%d\n", slices.Index(g.Jobs, u), arrow, escape.Replace(output.OneLine(t.RunWhen)), slices.Index(g.Jobs, t.JobName))
		}
	}
	return b.String()
}
