// Package command helps to declare commands and to read their flags and arguments.
package command

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
)

// Given returns a pointer to v if the flag was set on the command line, else nil.
func Given[T any](cmd *cobra.Command, flag string, v T) *T {
	if !cmd.Flags().Changed(flag) {
		return nil
	}
	return &v
}

// GivenTime is [Given] for a flag that holds a time.
func GivenTime(cmd *cobra.Command, flag, text string) (*time.Time, error) {
	if !cmd.Flags().Changed(flag) {
		return nil, nil
	}
	t, err := ParseTime(text)
	if err != nil {
		return nil, exit.Usagef("--%s: %w", flag, err)
	}
	return &t, nil
}

// ParseTime parses a time of the command line. A time without an offset is UTC.
func ParseTime(s string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04",
		"2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("invalid time %q: want a form such as 2026-01-31T22:00:00Z, 2026-01-31 22:00 or 2026-01-31", s)
}

// NewGroup returns a command that only has subcommands.
func NewGroup(use, short string, subcommands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(subcommands...)
	return cmd
}

// noChange are the flags of update commands that change nothing of the object.
var noChange = []string{flagYes, "wait", "no-wait", "step-id", "step-name", "help"}

// CheckChanges makes the commands named update refuse a command line without a flag for a property.
// They would report a change that was not made, as after a mistyped variable of a shell.
func CheckChanges(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		CheckChanges(sub)
	}
	if cmd.Name() != "update" || cmd.HasSubCommands() {
		return
	}
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		changes := false
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			changes = changes || f.Changed && !slices.Contains(noChange, f.Name)
		})
		if !changes {
			return exit.Usagef("nothing to change: give a flag for each property that changes; see %s --help", cmd.CommandPath())
		}
		return run(cmd, args)
	}
}

// Sleep waits, at most until the end of ctx, whose cause it returns.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// Poll calls read, with a pause before each further call, until it reports that it is done, or
// fails, or ctx ends, whose cause Poll returns then.
func Poll(ctx context.Context, pause time.Duration, read func() (done bool, err error)) error {
	for {
		if done, err := read(); err != nil || done {
			return err
		}
		if err := Sleep(ctx, pause); err != nil {
			return err
		}
	}
}
