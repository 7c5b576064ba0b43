// Package setting has the commands for settings of the whole system.
package setting

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/settings"
)

// NewCommand returns `jobagent setting`.
func NewCommand(a *connect.App) *cobra.Command {
	cmd := command.NewGroup("setting", "Change settings of the whole system",
		command.StandsFor("jobs.settings", newListCommand(a)),
		command.StandsFor("jobs.sp_set_setting", a.Prints(output.SettingName{}, newSetCommand(a))),
		a.Prints(output.SettingName{}, newResetCommand(a)),
	)
	cmd.Long = `Change settings of the whole system, which the control database holds: how long history is kept, for example, and whether operators
may ask questions. They apply to all agents and fronts, to later decisions. Only administrators change them; the audit log says who did.`
	return cmd
}

// columns are those of setting list.
var columns = output.Columns([]output.Column[settings.Setting]{
	{Name: "name", Header: "SETTING", ID: true, Keep: true},
	{Name: "value", Keep: true, Text: func(s settings.Setting) string {
		if s.IsDefault {
			return strconv.Itoa(s.Value) + " (default)"
		}
		return strconv.Itoa(s.Value)
	}, Right: true},
	{Name: "default_value", Header: "DEFAULT", Wide: true},
	{Name: "range", Drop: 3, Text: func(s settings.Setting) string { return fmt.Sprintf("%d to %d", s.Lowest, s.Highest) }, Value: func(s settings.Setting) any { return s.Highest }},
	{Name: "updated_time", Header: "SET", Wide: true},
	{Name: "meaning", Min: 20, Rest: true, Wrap: true},
})

func newListCommand(a *connect.App) *cobra.Command {
	return connect.List(a, columns, &cobra.Command{
		Use: "list", Short: "List the settings, what they do, and their ranges", Args: cobra.NoArgs,
	}, func(cmd *cobra.Command, _ []string, store *controldb.Store) ([]settings.Setting, error) {
		return settings.On(store).List(cmd.Context())
	})
}

func newSetCommand(a *connect.App) *cobra.Command {
	return &cobra.Command{
		Use: "set SETTING VALUE", Short: "Set a setting", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			value, err := strconv.ParseInt(args[1], 10, 32)
			if err != nil {
				return exit.Usagef("invalid value %q: want a whole number; jobagent setting list shows the ranges", args[1])
			}
			number := int(value)
			return a.WithStore(cmd.Context(), func(store *controldb.Store) error {
				if err := settings.On(store).Set(cmd.Context(), args[0], &number); err != nil {
					return err
				}
				return a.Done(output.SettingName{Name: args[0], Value: &number}, "set %s to %d", args[0], number)
			})
		},
	}
}

func newResetCommand(a *connect.App) *cobra.Command {
	return a.Does(&cobra.Command{
		Use: "reset SETTING", Short: "Give a setting its default", Args: cobra.ExactArgs(1),
	}, "%s has its default", func(cmd *cobra.Command, args []string, store *controldb.Store) (any, error) {
		return output.SettingName{Name: args[0]}, settings.On(store).Set(cmd.Context(), args[0], nil)
	})
}
