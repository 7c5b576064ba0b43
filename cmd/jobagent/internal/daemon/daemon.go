// Package daemon runs an agent in this process.
package daemon

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/targets/process"
)

// Protect keeps the agent's memory, environment and open files from the processes that it starts.
// What this system cannot protect is logged.
func Protect(log *zap.Logger) error {
	missing, err := process.Protect()
	if missing != "" {
		log.Warn(missing)
	}
	return err
}

// Run runs an agent until ctx ends. After that, a second SIGINT or SIGTERM cancels the running
// scripts.
func Run(ctx context.Context, cfg agent.Config, store *controldb.Store, tools agent.Tools, log *zap.Logger) error {
	return withForcedStop(ctx, func(forceStop <-chan struct{}) error {
		hosting, err := agent.New(cfg, store, tools, forceStop, log)
		if err != nil {
			return exit.Usage(err)
		}
		return hosting.Run(ctx)
	})
}

// RunFleet is Run for several control databases. It serves receiver, unless that is nil.
func RunFleet(
	ctx context.Context, cfg agent.Config, members []agent.Member, receiver agent.Receiver, log *zap.Logger,
) error {
	return withForcedStop(ctx, func(forceStop <-chan struct{}) error {
		fleet, err := agent.NewFleet(cfg, members, receiver, forceStop, log)
		if err != nil {
			return exit.Usage(err)
		}
		return fleet.Run(ctx)
	})
}

// withForcedStop calls run with a channel that is closed by a second signal, after ctx has ended.
func withForcedStop(ctx context.Context, run func(forceStop <-chan struct{}) error) error {
	forceStop := make(chan struct{})
	watcherEnded := make(chan struct{})
	agentEnded := make(chan struct{})
	go func() { // ends with the agent
		defer close(watcherEnded)
		select {
		case <-ctx.Done():
		case <-agentEnded:
			return
		}
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
		defer signal.Stop(signals)
		select {
		case <-signals:
			close(forceStop)
		case <-agentEnded:
		}
	}()
	defer func() {
		close(agentEnded)
		<-watcherEnded
	}()
	return run(forceStop)
}

// Start starts an agent. The function stop stops the agent, waits for it and returns its error.
func Start(ctx context.Context, cfg agent.Config, store *controldb.Store, tools agent.Tools,
	log *zap.Logger) (stop func() error, failed <-chan error) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	failed = ended
	go func() { // ends with ctx; stop waits for it
		defer close(ended)
		if err := Run(ctx, cfg, store, tools, log); err != nil {
			ended <- err
		}
	}()
	return func() error {
		cancel()
		return <-ended
	}, failed
}
