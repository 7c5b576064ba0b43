// Package values knows what each argument and each flag of the command line accepts: its limits,
// its form, and what completes it.
package values

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/lookup"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/jobs/suggest"
	"github.com/jobagent/jobagent/jobs/wording"
)

// Limits of texts in UTF-16 units, as SQL Server counts the characters of NVARCHAR.
const (
	maxName        = model.MaxName
	maxContext     = 64 // see contexts.CheckName
	maxServer      = model.MaxServer
	maxDescription = model.MaxDescription
	maxNote        = model.MaxNote
	maxIdentity    = 1000
	maxReason      = 4000
	maxWord        = 4000 // what has no limit of its own: patterns, references, paths
)

// Kind is what an argument or a flag accepts.
type Kind struct {
	// Words say what it is: "the name of a job".
	Words string
	// Hint is added where a value is missing or wrong: "jobagent job list shows all jobs".
	Hint string
	// Max is the greatest length in UTF-16 units; 0: no limit.
	Max int
	// Empty allows the empty text, which removes a value or stands for "none".
	Empty bool
	// New is a name that is given to a new object: control characters are refused. An old object
	// with such a name, made by T-SQL, can still be named.
	New bool
	// Enum are the only values, in any case; Separator allows several of them.
	Enum      []string
	Separator string
	// Loose means that the command itself refuses other values than those of Enum.
	Loose bool
	// Form checks the form of a value; nil: any.
	Form func(string) error
	// Files says that the value is a file, so that the shell completes it; Folder, a directory.
	Files, Folder bool

	source source
	// named is the name of an object that exists: a misspelled one gets a suggestion.
	named bool
	// run is an execution ID, which can be shortened.
	run bool
}

// Check reports what is wrong with a value that is called name: JOB, or --job. The error is a usage
// error; nothing was sent to a server.
func (k Kind) Check(name, value string) error {
	if err := text(name, value); err != nil {
		return err
	}
	blank := strings.Trim(value, " ") == "" // as of LTRIM in T-SQL, which may have made a name of a tab
	if k.New {
		blank = strings.TrimSpace(value) == ""
	}
	switch units := len(utf16.Encode([]rune(value))); {
	case blank:
		if k.Empty {
			return nil
		}
		if value != "" {
			return exit.Usagef("%s has only blanks: want %s", name, k.wanted())
		}
		return exit.Usagef("%s is empty: want %s", name, k.wanted())
	case k.Max > 0 && units > k.Max:
		return exit.Usagef("%s is too long: it has %d characters, %d more than the limit of %d", name, units, units-k.Max, k.Max)
	}
	if k.New {
		if i := strings.IndexFunc(value, unicode.IsControl); i >= 0 {
			r, _ := utf8.DecodeRuneInString(value[i:])
			return exit.Usagef("%s %q has the control character U+%04X: want a name without one", name, value, r)
		}
	}
	if len(k.Enum) > 0 && !k.Loose {
		if err := k.oneOf(name, value); err != nil {
			return err
		}
	}
	if k.Form != nil {
		if err := k.Form(value); err != nil {
			return exit.Usagef("invalid %s %q: %w", name, value, err)
		}
	}
	return nil
}

// wanted says what a value has to be, and how to find one.
func (k Kind) wanted() string {
	words := k.Words
	if len(k.Enum) > 0 && len(k.Enum) <= 12 {
		words = wording.Or(k.Enum)
	}
	if k.Hint == "" {
		return words
	}
	return words + "; " + k.Hint
}

// oneOf checks a value, or each of several, against Enum.
func (k Kind) oneOf(name, value string) error {
	parts := []string{value}
	if k.Separator != "" {
		parts = strings.Split(value, k.Separator)
	}
	for _, part := range parts {
		part = strings.TrimSpace(part)
		if slices.ContainsFunc(k.Enum, func(e string) bool { return strings.EqualFold(e, part) }) {
			continue
		}
		if near := suggest.Nearest(part, k.Enum); near != "" {
			return exit.Usagef("invalid %s %q: did you mean %s? Want %s", name, part, near, wording.Or(k.Enum))
		}
		return exit.Usagef("invalid %s %q: want %s", name, part, wording.Or(k.Enum))
	}
	return nil
}

// text refuses invalid UTF-8 and zero bytes: SQL Server would store other characters, or cut the
// value.
func text(name, value string) error {
	for i, r := range value {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(value[i:]); size == 1 {
				return exit.Usagef("%s is not valid UTF-8: byte %d is 0x%02X", name, i+1, value[i])
			}
		}
		if r == 0 {
			return exit.Usagef("%s has a NUL character at byte %d", name, i+1)
		}
	}
	return nil
}

// isGUID is the form of a GUID.
func isGUID(s string) error {
	if _, err := uuid.Parse(s); err != nil {
		return fmt.Errorf("not a GUID")
	}
	return nil
}

// isExecution is the form of an execution ID: a GUID, or its first digits.
func isExecution(s string) error {
	return isRun(s, "run", "jobagent execution list shows the latest runs")
}

// isRollout is the form of the ID of a roll-out, which is that of its own run.
func isRollout(s string) error {
	return isRun(s, "roll-out", "jobagent rollout list shows the latest roll-outs")
}

// isRun is the form of the ID of a run, or of what else has such an ID.
func isRun(s, what, hint string) error {
	id, err := uuid.Parse(s)
	switch {
	case err == nil && id == uuid.Nil:
		return fmt.Errorf("the zero GUID belongs to no %s; %s", what, hint)
	case err == nil || lookup.IsShort(s):
		return nil
	}
	return fmt.Errorf("not a GUID, nor the first %d or more of its hexadecimal digits; %s", lookup.ShortestID, hint)
}
