package connect

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/agent/alerts"
	"github.com/jobagent/jobagent/agent/rest/callbacks"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/http"
	"github.com/jobagent/jobagent/targets/mail"
	"github.com/jobagent/jobagent/targets/outbound"
	"github.com/jobagent/jobagent/targets/outbound/azure"
	"github.com/jobagent/jobagent/targets/process"
	"github.com/jobagent/jobagent/targets/queue"
)

// Actions are the runners of actions, made from a configuration file.
type Actions struct {
	agent.Actions

	network   *outbound.Network
	processes *process.Runner // nil without entries
}

// NewActions makes the runners of actions. local allows actions to call this machine, as in
// `jobagent dev`, whatever the configuration says. It makes no connection.
func NewActions(cfg config.File, version string, local bool) (*Actions, error) {
	return newActions(cfg, version, local, false)
}

// NewTrial makes the runners for a person who tries an action: they also show what they send, with
// secrets masked.
func NewTrial(cfg config.File, version string) (*Actions, error) {
	return newActions(cfg, version, false, true)
}

func newActions(cfg config.File, version string, local, show bool) (*Actions, error) {
	settings := cfg.Outbound
	settings.Azure = new(azure.Tokens).Get
	if local {
		settings.Allow = append(slices.Clone(settings.Allow), outbound.LoopbackAllowed()...)
	}
	a := &Actions{}
	var err, processErr error
	a.network, err = outbound.New(settings)
	if len(cfg.Processes) > 0 {
		a.processes, processErr = process.NewRunner(cfg.ProcessRunner())
	}
	if err := errors.Join(err, processErr, cfg.CheckActions()); err != nil {
		return nil, exit.Usage(err)
	}
	queues := queue.NewRunner(queue.Config{Network: a.network, UserAgent: "jobagent/" + version, ShowRequests: show})
	a.Runners = map[action.Type]targets.ActionRunner{
		action.TypeHTTP:            http.NewRunner(a.network, http.Config{Version: version, ShowRequests: show}),
		action.TypeStorageQueue:    queues,
		action.TypeServiceBusQueue: queues,
		action.TypeServiceBusTopic: queues,
	}
	if a.processes != nil {
		a.Runners[action.TypeProcess] = a.processes
	}
	a.Mail = mail.NewSender(a.network)
	a.CallbackURL, a.FrontURL = cfg.Callbacks.PublicURL, cfg.REST.PublicURL
	a.Secret = agent.NewSecrets(nil, namedSecrets(cfg), nil, zap.NewNop()).Get
	return a, nil
}

// namedSecrets returns the secrets of a configuration file.
func namedSecrets(cfg config.File) map[string]agent.NamedSecret {
	named := make(map[string]agent.NamedSecret, len(cfg.Secrets))
	for name, s := range cfg.Secrets {
		named[name] = agent.NamedSecret{Reference: s.Reference, Hosts: s.Hosts}
	}
	return named
}

// Equip gives an agent's tools the runners, with the configuration's secrets and the sealed ones of
// its control database.
func (a *Actions) Equip(tools *agent.Tools, store *controldb.Store, cfg config.File, log *zap.Logger) {
	secrets := agent.NewSecrets(store, namedSecrets(cfg), cfg.SecretKeys, log)
	tools.Actions = a.Actions
	tools.Actions.Secret = secrets.Get
	tools.OnClaim = append(tools.OnClaim, secrets.Expire)
}

// Pages returns the address of the dashboard's pages of a control database; empty if the
// configuration has no public address.
func Pages(publicURL, database string) string {
	if publicURL == "" {
		return ""
	}
	return strings.TrimSuffix(publicURL, "/") + "/ui/" + url.PathEscape(database)
}

// Alerts returns what evaluates and delivers the alerts of a control database in a front. Channels
// that need secrets are left to other processes unless the configuration has secrets or private
// keys.
func (a *Actions) Alerts(store *controldb.Store, cfg config.File, pages string, log *zap.Logger) *alerts.Service {
	host, err := os.Hostname()
	if err != nil {
		host = "an unknown host"
	}
	c := alerts.Config{Store: store, Runners: a.Runners, Mail: a.Mail, Pages: pages, Name: "server on " + host, Log: log}
	if len(cfg.Secrets)+len(cfg.SecretKeys) > 0 {
		c.Secret = agent.NewAlertSecrets(store, namedSecrets(cfg), cfg.SecretKeys, log).Get
	}
	return alerts.New(c)
}

// Receive opens the receiver of callbacks that the configuration asks for, if any; on says that one
// is wanted anyway, on a loopback address. The agent serves it.
func (a *Actions) Receive(ctx context.Context, cfg config.Callbacks, on bool, store *controldb.Store, log *zap.Logger) error {
	return a.ReceiveMany(ctx, cfg, on, []*controldb.Store{store}, log)
}

// ReceiveMany is Receive for several control databases.
func (a *Actions) ReceiveMany(
	ctx context.Context, cfg config.Callbacks, on bool, stores []*controldb.Store, log *zap.Logger,
) error {
	settings := cfg.Receiver()
	if settings.Listen == "" {
		if !on {
			return nil
		}
		settings = callbacks.Config{Listen: "127.0.0.1:0"}
	}
	receiver, err := callbacks.Listen(ctx, settings, stores, log)
	if err != nil {
		return exit.With(exit.ListenCode(err), err)
	}
	a.Receiver, a.CallbackURL = receiver, receiver.PublicURL()
	return nil
}

// Close closes a receiver that no agent has served.
func (a *Actions) Close() {
	if a.Receiver != nil {
		_ = a.Receiver.Close() // closed already if an agent has served it
	}
}

// Weaknesses lists the settings that expose requests to an attacker on the network.
func (a *Actions) Weaknesses() []string { return a.network.Weaknesses() }

// RefusedProcesses describes the entries of processes that cannot run on this machine.
func (a *Actions) RefusedProcesses() (list []string) {
	if a.processes == nil {
		return nil
	}
	for _, m := range a.processes.Methods() {
		if m.Refused {
			list = append(list, fmt.Sprintf("the process %s cannot run here: %s", m.Entry, m.Memory))
		}
	}
	return list
}

// Log logs what actions may do on this machine, and what weakens them. It logs no secret.
func (a *Actions) Log(cfg config.File, log *zap.Logger) {
	var types []string
	for t := range a.Runners {
		types = append(types, string(t))
	}
	slices.Sort(types)
	fields := []zap.Field{zap.Strings("command_types", types), zap.Strings("outbound_allow", cfg.Outbound.Allow)}
	if a.CallbackURL != "" {
		fields = append(fields, zap.String("callback_url", a.CallbackURL))
	}
	log.Info("actions are allowed", fields...)
	if a.processes != nil {
		for _, m := range a.processes.Methods() {
			level := zap.InfoLevel
			if m.Refused {
				level = zap.WarnLevel
			}
			log.Log(level, "process is allowed", zap.String("entry", m.Entry), zap.String("tree", m.Tree), zap.String("memory", m.Memory))
			if m.Exposed != "" {
				log.Warn("the process runs as the agent's user and can use the agent's files, keys and configuration included: "+
					m.Exposed+", or run only programs that you trust", zap.String("entry", m.Entry))
			}
		}
	}
	for _, weakness := range a.network.Weaknesses() {
		log.Warn(strings.TrimSpace(weakness))
	}
}
