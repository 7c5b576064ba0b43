package values

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/lookup"
	"github.com/jobagent/jobagent/jobs/wording"
)

// unknownCommand reports words that a group of commands does not have, with the command that was
// meant.
func unknownCommand(group *cobra.Command, args []string) error {
	near := meant(group, args)
	if near == "" {
		return exit.Usagef("unknown command %q: see %s --help", group.CommandPath()+" "+args[0], group.CommandPath())
	}
	return exit.Usagef("unknown command %q: did you mean %s? See %s --help", group.CommandPath()+" "+args[0], near, group.CommandPath())
}

// meant returns the commands that the words may stand for, quoted; empty if none is near.
func meant(group *cobra.Command, args []string) string {
	if c := nearest(group, args[0]); c != nil {
		if c.HasSubCommands() && len(args) > 1 { // the rest may have errors too
			if sub, _, err := c.Find(args[1:2]); err == nil && sub != c {
				c = sub
			} else if sub := nearest(c, args[1]); sub != nil {
				c = sub
			}
		}
		return fmt.Sprintf("%q", c.CommandPath())
	}
	var found []string // elsewhere: jobagent start stands for jobagent job start
	for _, g := range group.Root().Commands() {
		for _, c := range g.Commands() {
			if c.IsAvailableCommand() && (c.Name() == args[0] || c.HasAlias(args[0])) {
				found = append(found, fmt.Sprintf("%q", c.CommandPath()))
			}
		}
	}
	const most = 4 // more would be a list, not a suggestion
	if len(found) > most {
		return ""
	}
	return wording.Or(found)
}

// nearest returns the subcommand with the nearest name or alias; nil if none is near.
func nearest(group *cobra.Command, name string) *cobra.Command {
	var words []string
	var begun *cobra.Command // the only command that begins with the name
	starts := 0
	commands := map[string]*cobra.Command{}
	for _, c := range group.Commands() {
		if !c.IsAvailableCommand() {
			continue
		}
		if len(name) > 1 && strings.HasPrefix(c.Name(), strings.ToLower(name)) {
			begun = c
			starts++
		}
		for _, word := range append(append([]string{c.Name()}, c.Aliases...), c.SuggestFor...) {
			words = append(words, word)
			commands[word] = c
		}
	}
	if starts == 1 {
		return begun
	}
	return commands[lookup.Nearest(name, words)]
}

// FlagError reports a faulty flag in words of the command line, with the flag that was meant.
func FlagError(cmd *cobra.Command, err error) error {
	if args := cmd.Flags().Args(); cmd.HasSubCommands() && len(args) > 0 {
		return unknownCommand(cmd, args) // its flags are unknown for that reason
	}
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	var bare *pflag.ValueRequiredError
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "":
		return exit.Usagef("unknown flag -%s: see %s --help", unknown.GetSpecifiedName(), cmd.CommandPath())
	case errors.As(err, &unknown):
		name := unknown.GetSpecifiedName()
		if near := nearestFlag(cmd, name); near != "" {
			return exit.Usagef("unknown flag --%s: did you mean --%s? See %s --help", name, near, cmd.CommandPath())
		}
		return exit.Usagef("unknown flag --%s: see %s --help", name, cmd.CommandPath())
	case errors.As(err, &bare):
		return exit.Usagef("--%s needs a value; see %s --help", bare.GetFlag().Name, cmd.CommandPath())
	case errors.As(err, &invalid):
		f := invalid.GetFlag()
		want := map[string]string{
			"int": "a whole number", "int64": "a whole number", "uint": "a whole number", "float64": "a number", "bool": "true or false",
			"duration": span.Words,
		}[f.Value.Type()]
		if cause := errors.Unwrap(err); cause != nil && strings.HasPrefix(cause.Error(), "invalid ") { // it says what is invalid
			if !strings.Contains(cause.Error(), f.Name) {
				return exit.Usagef("--%s: %w", f.Name, cause)
			}
			return exit.Usage(cause)
		}
		if want == "" {
			return exit.Usagef("invalid --%s %q: %w", f.Name, invalid.GetValue(), errors.Unwrap(err))
		}
		return exit.Usagef("invalid --%s %q: want %s", f.Name, invalid.GetValue(), want)
	}
	return exit.Usagef("%w; see %s --help", err, cmd.CommandPath())
}

// suggestedNames bounds the names that are read to find the one that was meant.
const suggestedNames = 1000

// Suggest adds to the error about an object that does not exist the name that was meant by an
// argument or a flag. It reads names, only for such an error, and only of the kind in question.
func Suggest(cmd *cobra.Command, args []string, a *connect.App, err error) error {
	text := err.Error()
	if strings.Contains(text, didYouMean) {
		return err
	}
	list := arguments(cmd.Use)
	find := func(k Kind, value string) string {
		if !k.named || value == "" || !strings.Contains(text, quoted(text, value)) {
			return ""
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completionLimit)
		defer cancel()
		var names []string
		for _, c := range k.source(ctx, query{app: a, cmd: cmd, given: given(list, args), most: suggestedNames}) {
			name, _, _ := strings.Cut(c, "\t")
			names = append(names, name)
		}
		near := lookup.Nearest(value, names)
		if near == "" || strings.EqualFold(near, value) {
			return ""
		}
		return withSuggestion(text, quoted(text, value), near)
	}
	for i, value := range args {
		if k, _, ok := kindAt(cmd, list, i); ok {
			if better := find(k, value); better != "" {
				return &suggestion{better, err}
			}
		}
	}
	better := ""
	cmd.Flags().Visit(func(f *pflag.Flag) {
		k, ok := KindOfFlag(cmd, f)
		if !ok {
			return
		}
		list := []string{f.Value.String()}
		if s, many := f.Value.(pflag.SliceValue); many {
			list = s.GetSlice()
		}
		for _, value := range list {
			if better == "" {
				better = find(k, value)
			}
		}
	})
	if better != "" {
		return &suggestion{better, err}
	}
	return err
}

// didYouMean begins a suggestion.
const didYouMean = "did you mean "

// quoted returns a name as a message shows it: in T-SQL's quotes, or in double ones.
func quoted(text, name string) string {
	if single := "'" + name + "'"; strings.Contains(text, single) {
		return single
	}
	return fmt.Sprintf("%q", name)
}

// withSuggestion puts the name that was meant behind the sentence with a quoted name.
func withSuggestion(text, found, near string) string {
	i := strings.Index(text, found) + len(found)
	question := fmt.Sprintf("%s%q?", didYouMean, near)
	if end := strings.IndexAny(text[i:], ".;"); end >= 0 {
		return text[:i+end] + "; " + question + text[i+end+1:]
	}
	return text + "; " + question
}

// suggestion is an error with a suggestion in its text.
type suggestion struct {
	text  string
	cause error
}

// Error implements error.
func (s *suggestion) Error() string { return s.text }

// Unwrap returns the error without the suggestion.
func (s *suggestion) Unwrap() error { return s.cause }

// nearestFlag returns the flag of a command that was meant by a name; empty if none is near.
func nearestFlag(cmd *cobra.Command, name string) string {
	var list []string
	add := func(f *pflag.Flag) {
		if !f.Hidden && !slices.Contains(list, f.Name) {
			list = append(list, f.Name)
		}
	}
	cmd.Flags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	if near := lookup.Nearest(name, list); near != "" {
		return near
	}
	for _, f := range list { // --group for --target-group
		if strings.HasSuffix(f, "-"+name) || strings.HasPrefix(f, name+"-") {
			return f
		}
	}
	return ""
}
