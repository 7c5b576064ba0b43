package lookup

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/jobs/schedule"
)

// suggestedNames bounds the names that are read to find the one that was meant.
const suggestedNames = 1000

// missing returns the error about a name that no object has, such as the job "nigthly", with the
// nearest name of the kind. Only then it reads names. Hint says how to list them.
func missing(ctx context.Context, store *controldb.Store, what, name string, f controldb.NameFilter, hint string) error {
	text := fmt.Sprintf("%s %q does not exist", what, name)
	f.Limit = suggestedNames
	list, err := store.Names(ctx, f)
	if err == nil { // else the error would hide that the name does not exist
		var names []string
		for _, n := range list {
			names = append(names, n.Name)
		}
		if near := schedule.Nearest(name, names); near != "" {
			text += fmt.Sprintf("; did you mean %q?", near)
			return exit.With(exit.CodeNotFound, fmt.Errorf("%s %s", text, hint))
		}
	}
	return exit.With(exit.CodeNotFound, fmt.Errorf("%s; %s", text, hint))
}

// shownCandidates is the number of runs that an ambiguous ID lists.
const shownCandidates = 5

// Execution returns the ID of the run that begins with a text, among the latest runs. It is an
// error if there is none, or more than one.
func Execution(ctx context.Context, store *controldb.Store, prefix string) (uuid.UUID, error) {
	list, err := store.ExecutionsByPrefix(ctx, prefix, shownCandidates+1)
	if err != nil {
		return uuid.Nil, err
	}
	switch len(list) {
	case 0:
		return uuid.Nil, exit.With(exit.CodeNotFound, fmt.Errorf("no run whose ID begins with %s is among the latest 10,000; jobagent execution list shows the latest runs", prefix))
	case 1:
		return uuid.Parse(list[0].Name)
	}
	var candidates []string
	for _, n := range list[:min(len(list), shownCandidates)] {
		candidates = append(candidates, fmt.Sprintf("%s (%s, %s ago)", n.Name, n.Detail, time.Since(n.Created).Round(time.Second)))
	}
	text := strings.Join(candidates, "; ")
	if len(list) > shownCandidates {
		text += "; and others"
	}
	return uuid.Nil, exit.Usagef("the execution ID %s is ambiguous: %s", prefix, text)
}
