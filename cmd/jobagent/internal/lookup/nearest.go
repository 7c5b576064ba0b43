package lookup

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/agnivade/levenshtein"
	"github.com/google/uuid"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/naming"
	"github.com/jobagent/jobagent/jobs/suggest"
)

// Nearest returns the name that was meant by a misspelled one; empty if none is near. It is
// stricter than a proposal for one of few words, since names are many.
func Nearest(name string, names []string) string {
	near := suggest.Nearest(name, names)
	a, b := strings.ToLower(name), strings.ToLower(near)
	if near == "" || strings.HasPrefix(b, a) || strings.HasPrefix(a, b) {
		return near
	}
	if levenshtein.ComputeDistance(a, b) > max(2, len(a)/3) { // letters that are swapped count twice
		return ""
	}
	return near
}

// suggestedNames bounds the names that are read to find the one that was meant.
const suggestedNames = 1000

// missing returns the error about a name that no object has, such as the job "nihgtly", with the
// nearest name of the kind. Only then it reads names. Hint says how to list them. Parts of a job
// are looked for in the job f.Of.
func missing(ctx context.Context, store *controldb.Store, what, name string, f naming.Filter, hint string) error {
	text := fmt.Sprintf("%s %q does not exist", what, name)
	if f.Of != "" {
		text = fmt.Sprintf("job %q has no %s %q", f.Of, what, name)
	}
	f.Limit = suggestedNames
	list, err := naming.On(store).List(ctx, f)
	if err == nil { // else the error would hide that the name does not exist
		var names []string
		for _, n := range list {
			names = append(names, n.Name)
		}
		if near := Nearest(name, names); near != "" {
			text += fmt.Sprintf("; did you mean %q?", near)
			return exit.With(exit.CodeNotFound, fmt.Errorf("%s %s", text, hint))
		}
	}
	return exit.With(exit.CodeNotFound, fmt.Errorf("%s; %s", text, hint))
}

// ShortestID is the least number of hexadecimal digits of a short execution ID.
const ShortestID = 4

// IsShort reports whether a text has the form of the beginning of a GUID.
func IsShort(s string) bool {
	digits := 0
	for i, r := range s {
		hyphen := strings.Contains(s, "-") && (i == 8 || i == 13 || i == 18 || i == 23)
		switch {
		case hyphen && r == '-':
		case !hyphen && strings.ContainsRune("0123456789abcdefABCDEF", r):
			digits++
		default:
			return false
		}
	}
	return digits >= ShortestID && digits < 32
}

// shownCandidates is the number of runs that an ambiguous ID lists.
const shownCandidates = 5

// Execution returns the ID of the run that begins with a text, among the latest runs. It is an
// error if there is none, or more than one.
func Execution(ctx context.Context, store *controldb.Store, prefix string) (uuid.UUID, error) {
	list, err := naming.On(store).Executions(ctx, prefix, shownCandidates+1)
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
