package importer

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// ranThere returns the steps that SQL Server Agent runs if some of them fail, by walking from step
// to step. It ends at a step that has run.
func ranThere(a *AgentJob, fails map[int]bool) (ran map[int]bool, failed bool) {
	ran = map[int]bool{}
	id := a.StartStepID
	for {
		i := slices.IndexFunc(a.Steps, func(s AgentStep) bool { return s.ID == id })
		if i < 0 || ran[id] {
			return ran, true
		}
		ran[id] = true
		s := a.Steps[i]
		act, to := s.OnSuccess, s.OnSuccessStep
		if fails[id] {
			act, to = s.OnFail, s.OnFailStep
		}
		switch act {
		case quitWithSuccess:
			return ran, false
		case quitWithFailure:
			return ran, true
		case goToNext:
			if to = id + 1; i+1 == len(a.Steps) {
				return ran, fails[id]
			}
		}
		id = to
	}
}

// ranHere returns the names of the steps that a run starts, by the rules of sql/DESIGN.md,
// "Dependencies".
func ranHere(j Job, fails map[string]bool) (ran map[string]bool, failed bool) {
	ran = map[string]bool{}
	result := map[string]bool{}
	for i, s := range j.Steps {
		after := s.After
		if after == nil && i > 0 {
			after = []string{j.Steps[i-1].Name}
		}
		good := true
		for _, a := range after {
			good = good && result[a]
		}
		switch s.RunWhen {
		case "Failed":
			ran[s.Name], result[s.Name] = !good, true
		case "Finished":
			ran[s.Name] = true
		default:
			ran[s.Name], result[s.Name] = good, false
		}
		if ran[s.Name] {
			result[s.Name] = !fails[s.Name]
			failed = failed || fails[s.Name]
		}
	}
	return ran, failed
}

// stepsOf makes a job of steps a, b, … from the actions on success and on failure: q and f quit
// with success and failure, n goes to the next step, a digit to that step.
func stepsOf(flow string) *AgentJob {
	a := &AgentJob{Name: "j", Enabled: true, StartStepID: 1, Schedules: []AgentSchedule{{Name: "s", Enabled: true, FreqType: freqDaily, FreqInterval: 1, FreqSubdayType: 1, ActiveStartDate: 20260101, ActiveEndDate: openEnd}}}
	for i, pair := range strings.Fields(flow) {
		s := AgentStep{ID: i + 1, Name: string(rune('a' + i)), Subsystem: "TSQL", Command: "SELECT 1;", Database: "d"}
		for k, c := range pair {
			act, to := map[rune]int{'q': quitWithSuccess, 'f': quitWithFailure, 'n': goToNext}[c], 0
			if act == 0 {
				act, to = goToStep, int(c-'0')
			}
			if k == 0 {
				s.OnSuccess, s.OnSuccessStep = act, to
			} else {
				s.OnFail, s.OnFailStep = act, to
			}
		}
		a.Steps = append(a.Steps, s)
	}
	return a
}

// compareFlow runs a job there and here with all outcomes of its steps, and returns the steps with
// differences. It fails unless the report has each of them.
func compareFlow(t *testing.T, flow string) (j Job, differ []string) {
	t.Helper()
	a := stepsOf(flow)
	r := SQLAgent([]AgentJob{*a}, Options{Now: now, Server: "s", Zone: "UTC"})
	j = r.Jobs[0]
	for mask := range 1 << len(a.Steps) {
		ids, names := map[int]bool{}, map[string]bool{}
		for i, s := range a.Steps {
			ids[s.ID], names[s.Name] = mask&(1<<i) != 0, mask&(1<<i) != 0
		}
		there, _ := ranThere(a, ids)
		here, _ := ranHere(j, names)
		for _, s := range a.Steps {
			if there[s.ID] != here[s.Name] && !slices.Contains(differ, s.Name) {
				differ = append(differ, s.Name)
			}
		}
	}
	slices.Sort(differ)
	for _, name := range differ {
		reported := slices.ContainsFunc(r.Findings, func(f Finding) bool {
			back := strings.Contains(f.Message, "goes back") // what follows is not compared
			return back || (f.Effect == Lost || f.Effect == Changed) && strings.HasSuffix(f.Element, fmt.Sprintf("%q", name)) && strings.Contains(f.Message, "run")
		})
		require.True(t, reported, "%s: step %s runs otherwise, and the report does not say so", flow, name)
	}
	return j, differ
}

// Usual flows run here as they did there, whatever fails.
func TestSQLAgentFlows(t *testing.T) {
	t.Parallel()
	for flow, want := range map[string][]string{
		"nf nf qf":             {"a", "b", "c"},
		"nn nn qf":             {"a", "b Finished", "c Finished"},
		"n4 n4 q4 ff":          {"a", "b", "c", "d Failed [a b c]"},
		"nf nn qf":             {"a", "b", "continue after b Failed", "c [a continue after b]"},
		"n4 n4 n4 qq":          {"a", "b", "c", "d Finished [a b c]"},
		"4f qf qf 2f":          {"a", "d", "b"},
		"n3 qf n5 qf qf":       {"a", "b", "c Failed [a]", "d [a c] Failed", "e Failed [a c d]"},
		"nf n5 n5 qf q5":       nil,
		"n4 n5 q6 66 66 ff qf": nil,
	} {
		j, differ := compareFlow(t, flow)
		if want == nil {
			continue
		}
		var got []string
		for _, s := range j.Steps {
			text := s.Name
			if s.RunWhen != "" {
				text += " " + s.RunWhen
			}
			if s.After != nil {
				text += " " + fmt.Sprint(s.After)
			}
			got = append(got, text)
		}
		if !strings.HasPrefix(flow, "n3 qf n5") { // a handler of two steps has no exact form
			require.Equal(t, want, got, flow)
			require.Empty(t, differ, flow)
		}
	}
}

// A flow without an exact form is reported, and if one failure suffices for the difference, the
// schedules are disabled.
func TestSQLAgentFlowWithoutExactForm(t *testing.T) {
	t.Parallel()
	for flow, enabled := range map[string]bool{"nf n4 qf qf": false, "n4 n4 q4 n5 qf": true, "nf nf 1f": false, "nf 9f": false} {
		j, _ := compareFlow(t, flow)
		require.Equal(t, enabled, j.Schedules[0].Enabled, flow)
	}
}

// Whatever the flow, each difference is in the report.
func TestSQLAgentFlowsAtRandom(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a fixed sequence
	exact := 0
	for range 2000 {
		n := 2 + random.IntN(5)
		var flow []string
		for i := range n {
			pair := ""
			for range 2 {
				choices := "qfnn"
				for k := i + 2; k <= n; k++ {
					choices += string(rune('0' + k))
				}
				if random.IntN(20) == 0 {
					choices = string(rune('1' + random.IntN(n)))
				}
				pair += string(choices[random.IntN(len(choices))])
			}
			flow = append(flow, pair)
		}
		if _, differ := compareFlow(t, strings.Join(flow, " ")); len(differ) == 0 {
			exact++
		}
	}
	require.Greater(t, exact, 1000)
	t.Logf("%d of 2000 flows have an exact form", exact)
}
