package alert

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/agent/alerts"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/alerting"
	"github.com/jobagent/jobagent/jobs/action"
)

// newChannelCommand returns `jobagent alert channel`.
func newChannelCommand(a *connect.App) *cobra.Command {
	cmd := command.NewGroup("channel", "Manage where alerts are sent",
		command.StandsFor("jobs.sp_add_alert_channel", a.Prints(output.AlertChannelName{}, newAddChannelCommand(a))),
		command.StandsFor("jobs.sp_update_alert_channel", a.Prints(output.AlertChannelName{}, newUpdateChannelCommand(a))),
		command.StandsFor("jobs.alert_channels", newListChannelsCommand(a)),
		command.StandsFor("jobs.sp_delete_alert_channel", a.Prints(output.AlertChannelName{}, newDeleteChannelCommand(a))),
	)
	cmd.Long = `Manage where alerts are sent. A definition is a JSON object, or @FILE. Secrets are $(secret.NAME); jobagent secret set
stores them.

  an action such as Http     the definition of an action; without a body or message, the notification is
                             sent as JSON. $(param.title), $(param.message) and other members of the
                             notification can be used, and $(payload) is the whole
  Mail                       {"host": "smtp.example.com", "from": "jobs@example.com", "to": ["ops@example.com"],
                             "security": "starttls", "username": "u", "password": "$(secret.SMTP)"}
  Slack, Teams               {"url": "$(secret.NAME)"}: an incoming webhook, or a workflow`
	return cmd
}

// readDefinition reads a definition, and checks it.
func readDefinition(s *connect.Settings, channelType, text string) (string, error) {
	if path, isFile := strings.CutPrefix(text, "@"); isFile {
		var err error
		if text, err = command.ReadText(path, s.Stdin); err != nil {
			return "", err
		}
	}
	if channelType == "" || !json.Valid([]byte(text)) {
		return text, nil // the control database tells what is wrong
	}
	if err := alerts.Check(channelType, text); err != nil {
		return "", exit.Usage(err)
	}
	return text, nil
}

func newAddChannelCommand(a *connect.App) *cobra.Command {
	var enabled bool
	cmd := &cobra.Command{
		Use: "add CHANNEL TYPE DEFINITION", Short: "Add a channel", Args: cobra.ExactArgs(3),
		Example: `  jobagent alert channel add on-call Slack '{"url": "$(secret.SLACK)"}'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			kind := args[1]
			for _, known := range action.ChannelTypes() {
				if strings.EqualFold(kind, known) {
					kind = known
				}
			}
			definition, err := readDefinition(&a.Settings, kind, args[2])
			if err != nil {
				return err
			}
			return a.WithStore(cmd.Context(), func(store *controldb.Store) error {
				if err := alerting.On(store).AddChannel(cmd.Context(), args[0], kind, definition, enabled); err != nil {
					return err
				}
				return a.Done(output.AlertChannelName{Name: args[0]}, "added the channel %s; try it with: jobagent alert test %s", args[0], args[0])
			})
		},
	}
	cmd.Flags().BoolVar(&enabled, "enabled", true, "whether anything is sent")
	return cmd
}

func newUpdateChannelCommand(a *connect.App) *cobra.Command {
	var definition string
	var enabled bool
	cmd := &cobra.Command{
		Use: "update CHANNEL", Short: "Change a channel; what is not given stays", Args: cobra.ExactArgs(1),
		RunE: a.Changes(func(cmd *cobra.Command, args []string, store *controldb.Store) error {
			list, err := alerting.On(store).Channels(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if len(list) == 0 {
				return exit.With(exit.CodeNotFound, fmt.Errorf("the channel %q does not exist; jobagent alert channel list lists all channels", args[0]))
			}
			var text *string
			if cmd.Flags().Changed("definition") {
				read, err := readDefinition(&a.Settings, list[0].Type, definition)
				if err != nil {
					return err
				}
				text = &read
			}
			var on *bool
			if cmd.Flags().Changed("enabled") {
				on = &enabled
			}
			if err := alerting.On(store).UpdateChannel(cmd.Context(), args[0], text, on); err != nil {
				return err
			}
			return a.Done(output.AlertChannelName{Name: args[0]}, "changed the channel %s", args[0])
		}),
	}
	cmd.Flags().StringVar(&definition, "definition", "", "JSON object, or @FILE")
	cmd.Flags().BoolVar(&enabled, "enabled", true, "whether anything is sent")
	return cmd
}

func newDeleteChannelCommand(a *connect.App) *cobra.Command {
	return a.Deletes(&cobra.Command{
		Use: "delete CHANNEL", Short: "Delete a channel that no rule uses", Args: cobra.ExactArgs(1),
	}, "This deletes the channel %s", "deleted the channel %s", func(cmd *cobra.Command, args []string, store *controldb.Store) (any, error) {
		return output.AlertChannelName{Name: args[0]}, alerting.On(store).DeleteChannel(cmd.Context(), args[0])
	})
}

func newListChannelsCommand(a *connect.App) *cobra.Command {
	return connect.List(a, channelColumns, &cobra.Command{
		Use: "list", Short: "List the channels", Args: cobra.NoArgs,
	}, func(cmd *cobra.Command, _ []string, store *controldb.Store) ([]output.AlertChannel, error) {
		list, err := alerting.On(store).Channels(cmd.Context(), "")
		return output.Each(list, func(c alerting.Channel) output.AlertChannel { return output.AlertChannel{Channel: c} }), err
	})
}

// channelColumns are those of alert channel list.
var channelColumns = output.Columns([]output.Column[output.AlertChannel]{
	{Name: "channel_name", Header: "NAME", ID: true, Min: 12, Keep: true},
	{Name: "channel_type", Header: "TYPE", Keep: true},
	{Name: "enabled"},
	{Name: "needs_secrets"},
	{Name: "updated_time", Header: "UPDATED", Wide: true},
	{Name: "definition", Min: 16, Rest: true},
})
