package fleet

import (
	"slices"
	"strings"

	"github.com/jobagent/jobagent/jobs/wording"
)

// EngineNotice returns a sentence about live agents that compute schedules differently, and one
// that says what to do. Both are empty if their engines are the same. Agents of earlier releases,
// whose engines are unknown, do not count.
func EngineNotice(list []Agent) (found, advice string) {
	var engines []Agent
	machines := map[string][]string{}
	for _, a := range list {
		if !a.Live || a.Engine == "" {
			continue
		}
		if machines[a.Engine] == nil {
			engines = append(engines, a)
		}
		if !slices.Contains(machines[a.Engine], a.Host) {
			machines[a.Engine] = append(machines[a.Engine], a.Host)
		}
	}
	if len(engines) < 2 {
		return "", ""
	}
	slices.SortFunc(engines, func(a, b Agent) int { return strings.Compare(a.Engine, b.Engine) })
	var parts []string
	programs, rules := map[string]bool{}, map[string]bool{}
	for _, a := range engines {
		program, zones, _ := strings.Cut(a.Engine, ", ")
		programs[program], rules[zones] = true, true
		text := a.Engine
		if a.ZoneData != "" {
			text += " from " + a.ZoneData
		}
		parts = append(parts, text+" on "+wording.First(machines[a.Engine]))
	}
	switch {
	case len(programs) == 1:
		found, advice = "live agents have different time zone rules", "Give all machines the same time zone rules: run the same image, or set ZONEINFO to the same file."
	case len(rules) == 1:
		found, advice = "live agents have different engines for schedules", "Run the same release of jobagent on all machines."
	default:
		found, advice = "live agents have different engines for schedules and different time zone rules",
			"Run the same release of jobagent with the same time zone rules on all machines: the same image, or ZONEINFO set to the same file."
	}
	return found + ": " + strings.Join(parts, "; "), advice
}

// EngineEffect says what different engines of live agents mean.
const EngineEffect = "a schedule may be due at another instant on another agent, and its next instants are computed again whenever an agent starts"
