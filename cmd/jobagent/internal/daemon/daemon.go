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
)

// Run runs an agent until ctx ends. A further signal makes it hurry.
func Run(ctx context.Context, cfg agent.Config, store *controldb.Store, tools agent.Tools, log *zap.Logger) error {
	hurry := make(chan struct{})
	watching := make(chan struct{})
	stopWatching := make(chan struct{})
	go func() { // ends when the agent has
		defer close(watching)
		select {
		case <-ctx.Done():
		case <-stopWatching:
			return
		}
		again := make(chan os.Signal, 1)
		signal.Notify(again, os.Interrupt, syscall.SIGTERM)
		defer signal.Stop(again)
		select {
		case <-again:
			close(hurry)
		case <-stopWatching:
		}
	}()
	defer func() {
		close(stopWatching)
		<-watching
	}()
	hosting, err := agent.New(cfg, store, tools, hurry, log)
	if err != nil {
		return exit.Usage(err)
	}
	return hosting.Run(ctx)
}

// Start runs an agent until stop is called, which waits for it and returns its error.
func Start(ctx context.Context, cfg agent.Config, store *controldb.Store, tools agent.Tools, log *zap.Logger) (stop func() error, failed <-chan error) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	failed = ended
	go func() { // ends when ctx does; stop waits for it
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
