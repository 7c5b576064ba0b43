package actions

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/targets"
)

const (
	// shownChosen bounds the names of chosen databases in a sentence.
	shownChosen = 10
	// shownIDs bounds the IDs of chosen databases in a command; more are in a file.
	shownIDs = 20
	// chosenFile is the name of this file in commands.
	chosenFile = "targets.txt"
)

// choiceOf returns the chosen databases of a request; nil if it is about all of a run.
func choiceOf(ctx context.Context, choose page.Chooser, r *page.Request, run uuid.UUID) (*page.Choice, error) {
	if !r.Chooses() {
		return nil, nil
	}
	return choose(ctx, r, run)
}

// chosenIn returns the databases that were chosen in the grid of the run that a request names.
func chosenIn(ctx context.Context, choose page.Chooser, r *page.Request) (*page.Choice, error) {
	run, err := id(r, "run")
	if err != nil {
		return nil, err
	}
	return choose(ctx, r, run)
}

// ids returns the IDs of the chosen databases.
func ids(list []page.ChosenDatabase) []string {
	texts := make([]string, 0, len(list))
	for _, d := range list {
		texts = append(texts, d.ID.String())
	}
	return texts
}

// limit returns the databases to which a start or a rerun is limited. An *InputError says that
// there are none, or too many.
func limit(list []page.ChosenDatabase) ([]targets.Target, error) {
	if problem := wrongNumber(len(list)); problem != "" {
		return nil, &page.InputError{Problem: problem}
	}
	only := make([]targets.Target, 0, len(list))
	for _, d := range list {
		only = append(only, targets.Target{ID: d.ID, Server: d.Server, Database: d.Database})
	}
	return only, nil
}

// wrongNumber says why a number of databases cannot be chosen; empty: it can.
func wrongNumber(n int) string {
	switch {
	case n == 0:
		return "No database is chosen. Go back, and tick rows of the grid or all that match its filter."
	case n > executions.MaxOnlyTargets:
		return fmt.Sprintf("%s are chosen, and a run is limited to %s at most. Go back, and filter.",
			page.Counted(n, "database", "databases"), page.Grouped(executions.MaxOnlyTargets))
	}
	return ""
}

// problemOf says why a start on chosen databases is refused; empty: it is not.
func problemOf(c *page.Choice) string { return cmp.Or(c.Problem, wrongNumber(len(c.Databases))) }

// describeChoice says which databases are chosen: "on 12 chosen databases of 400: a, b, c
// and 9 more".
func describeChoice(c *page.Choice) string {
	var names []string
	for _, d := range c.Databases[:min(shownChosen, len(c.Databases))] {
		names = append(names, d.Server+"/"+d.Database)
	}
	more := ""
	if n := len(c.Databases) - len(names); n > 0 {
		more = " and " + page.Grouped(n) + " more"
	}
	of := ""
	if c.Run != uuid.Nil {
		of = " of the run"
	}
	return fmt.Sprintf("on %s of %s%s: %s%s", page.Counted(len(c.Databases), "chosen database", "chosen databases"),
		page.Grouped(c.Of), of, strings.Join(names, ", "), more)
}

// commandsOn completes a command and a call that are limited to chosen databases, if c is not nil;
// there are none if they would be refused. flag is the command's.
func commandsOn(c *page.Choice, flag string, cli []string, procedure string, tsql []page.Arg) []page.Equivalent {
	switch {
	case c == nil:
		return commands(page.CLI(cli...), page.TSQL(procedure, tsql...))
	case problemOf(c) != "": // without the list, the command would run on all databases
		return nil
	}
	list := ids(c.Databases)
	var file []page.Equivalent
	value := strings.Join(list, ",")
	if len(list) > shownIDs {
		value = "@" + chosenFile
		file = []page.Equivalent{{Door: page.DoorTargets, Text: strings.Join(list, "\n")}}
	}
	cli = append(slices.Clone(cli), flag, value)
	tsql = append(slices.Clone(tsql), page.Arg{Name: "only_targets", Value: `["` + strings.Join(list, `","`) + `"]`})
	return append(commands(page.CLI(cli...), page.TSQL(procedure, tsql...)), file...)
}

// chosenFields returns the fields that a form about chosen databases has: what was confirmed is
// sent with it.
func chosenFields(c *page.Choice) []page.Field {
	if c == nil || problemOf(c) != "" {
		return nil
	}
	return []page.Field{{Name: page.ChoiceField, Kind: "hidden", Value: strings.Join(ids(c.Databases), ",")}}
}

// countChosen counts the steps of chosen databases by the states of a rerun, as countStates does
// for all.
func countChosen(c *page.Choice) map[string]int {
	counts := map[string]int{}
	for _, d := range c.Databases {
		for _, state := range d.Ended {
			counts[state]++
		}
	}
	return counts
}

// endedSo returns the chosen databases that a rerun of some states has. A rerun that resolves a
// target group may have all of them.
func endedSo(c *page.Choice, states []string) []page.ChosenDatabase {
	if c.Unreached {
		return c.Databases
	}
	return slices.DeleteFunc(slices.Clone(c.Databases), func(d page.ChosenDatabase) bool {
		return !slices.ContainsFunc(d.Ended, func(state string) bool { return slices.Contains(states, state) })
	})
}
