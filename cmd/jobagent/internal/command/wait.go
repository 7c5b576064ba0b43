package command

import (
	"context"
	"time"
)

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
