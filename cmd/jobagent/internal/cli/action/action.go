// Package action has the commands that check and try actions.
package action

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/wording"
)

// NewCommand returns `jobagent action`.
func NewCommand(a *connect.App) *cobra.Command {
	return command.NewGroup("action", "Check and try actions", a.Prints(output.ActionCheck{}, newCheckCommand(a)), a.Prints(output.ActionTrial{}, newTryCommand(a)))
}

func newCheckCommand(a *connect.App) *cobra.Command {
	var kind string
	cmd := &cobra.Command{
		Use: "check FILE|-", Short: "List every fault in the definition of an action", Args: cobra.ExactArgs(1),
		Long: `List every fault in the definition of an action, a JSON object, with the path of each. The exit code is
2 if there is one. Nothing is sent, and no control database is needed.`,
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := command.ReadFile(args[0], a.Stdin)
			if err != nil {
				return err
			}
			t, err := commandType(kind, string(text))
			if err != nil {
				return exit.Usagef("%s: %w", args[0], err)
			}
			check := result(t, string(text))
			if err := a.Emit(check, func(w io.Writer) error { return write(w, check) }); err != nil {
				return err
			}
			if !check.Valid {
				return exit.With(exit.CodeUsage, nil)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&kind, "type", "", "`type` of the command: "+action.NamesOfActions()+" (default: by the members)")
	return cmd
}

// commandType returns the type that a text names, or the type of a definition by its members.
func commandType(name, text string) (action.Type, error) {
	if name != "" {
		t, err := action.ParseType(name)
		if err == nil && t == action.TypeTSQL {
			err = errors.New("a T-SQL script has no definition")
		}
		return t, err
	}
	t, err := action.Infer(text)
	if errors.Is(err, action.ErrNoType) {
		err = fmt.Errorf("%w: give --type", err)
	}
	return t, err
}

// result returns the result of the check of a definition.
func result(t action.Type, text string) output.ActionCheck {
	check := output.ActionCheck{Type: t, Faults: []output.ActionFault{}}
	d, err := action.Decode(t, text)
	var faults *action.Faults
	if errors.As(err, &faults) {
		for _, f := range faults.List {
			check.Faults = append(check.Faults, output.ActionFault(f))
		}
		return check
	}
	check.Valid = true
	check.Server, _ = d.Server() // a template in the host is permitted, and has no server
	check.Variables = d.Names()
	return check
}

// write prints the result of a check.
func write(w io.Writer, check output.ActionCheck) error {
	for _, f := range check.Faults {
		if _, err := fmt.Fprintln(w, output.OneLine(f.Path+": "+f.Message)); err != nil {
			return err
		}
	}
	if !check.Valid {
		_, err := fmt.Fprintf(w, "%s in a command of the type %s\n", wording.Count(len(check.Faults), "fault"), check.Type)
		return err
	}
	server := check.Server
	if server == "" {
		server = "a host that a template names"
	}
	fmt.Fprintf(w, "valid command of the type %s, to %s\n", check.Type, server)
	if len(check.Variables) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "variables: %s\n", strings.Join(check.Variables, ", "))
	return err
}
