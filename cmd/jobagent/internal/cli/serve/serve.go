// Package serve has the command that serves REST.
package serve

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/front"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/service"
)

// NewCommand returns `jobagent serve`.
func NewCommand(a *connect.App) *cobra.Command {
	var listen string
	var insecure, check bool
	cmd := &cobra.Command{
		Use: "serve", Short: "Serve the REST APIs of Azure Elastic Jobs, Azure Scheduler and SAP Job Scheduling Service",
		Long: `Serve REST until a signal ends the command. Any number of processes may serve the same control
databases. The sections rest and control_databases of the configuration file say who may call, and
what; jobagent token creates tokens. A configuration with a connection string only is valid too.

Without a certificate (rest.tls), the front serves a loopback address only, with a certificate of its
own, whose file is logged.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := front.OptionsOf(cmd.Context(), a)
			if err != nil {
				return err
			}
			if listen != "" {
				o.Config.Listen = listen
			}
			o.Config.InsecureHTTP = o.Config.InsecureHTTP || insecure
			if check {
				return checkOnly(a, o)
			}
			if o.Log, err = a.Logger(); err != nil {
				return err
			}
			stopMetrics, err := a.ServeMetrics(cmd.Context(), o.Log)
			if err != nil {
				return err
			}
			defer stopMetrics()
			return serve(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "", "address to listen on (default: rest.listen of the configuration, or 127.0.0.1:8443)")
	cmd.Flags().BoolVar(&insecure, "insecure-http", false, "serve plain HTTP, on a loopback address only")
	cmd.Flags().BoolVar(&check, "check", false, "check the configuration without serving")
	cmd.AddCommand(a.Prints(json.RawMessage{}, newBindingCommand(a)))
	return cmd
}

// checkOnly implements --check.
func checkOnly(a *connect.App, o front.Options) error {
	o.Log = zap.NewNop()
	if err := front.Check(o); err != nil {
		return err
	}
	if err := o.Config.Listener().CheckFiles(); err != nil {
		return exit.Usage(err)
	}
	file, err := a.Config()
	if err != nil {
		return err
	}
	if err := file.CheckForms(); err != nil {
		return err
	}
	result := output.FrontCheck{Listen: o.Config.Listener().Address, ControlDatabases: []string{}}
	for _, d := range o.Databases {
		result.ControlDatabases = append(result.ControlDatabases, d.Name)
	}
	return a.Done(result, "the configuration is valid: control databases %s, listen %s", strings.Join(result.ControlDatabases, ", "), result.Listen)
}

// serve implements `jobagent serve`.
func serve(ctx context.Context, o front.Options) error {
	if err := front.UseOwnCertificate(&o); err != nil {
		return err
	}
	f, err := front.Open(ctx, o)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.CheckSchemas(ctx); err != nil {
		return err
	}
	supervisor := service.Supervise(o.Log)
	supervisor.Alive() // the address is open
	defer context.AfterFunc(ctx, supervisor.Stopping)()
	return f.Serve(ctx)
}
