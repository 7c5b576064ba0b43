// Package command helps to declare commands and to read their flags and arguments.
package command

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

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
