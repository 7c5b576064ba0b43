package agent

import (
	"context"

	"github.com/jobagent/jobagent/agent/telemetry/metrics"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/cache"
	"github.com/jobagent/jobagent/jobs/parameters"
)

const (
	// cachedBytes bounds the size of the values of one kind. One script has at most some megabytes.
	cachedBytes = 32 << 20
	// cachedDefinitions bounds the number of definitions.
	cachedDefinitions = 1000
)

// counted caches values of the control database by their IDs: the commands of steps, decoded
// definitions, and the parameters of runs. The value of an ID never changes. So an agent reads a
// script once for thousands of targets. It is safe for concurrent use.
type counted[T any] struct {
	cache.Cache[int64, T]
	reads *metrics.Cache // counts hits and misses; nil: no count
}

// get returns the value of an ID. If the value is not cached, get calls read; size is the
// approximate size of the value in bytes.
func (c *counted[T]) get(ctx context.Context, id int64, read func(ctx context.Context) (value T, size int, err error)) (T, error) {
	value, kept, err := c.Get(ctx, id, func(ctx context.Context) (T, int, error) {
		c.reads.Read(false)
		return read(ctx)
	})
	if kept {
		c.reads.Read(true)
	}
	return value, err
}

// caches hold the values that the workers of an agent have read.
type caches struct {
	store       *controldb.Store
	commands    counted[string]
	payloads    counted[*parameters.Parameters]
	definitions counted[decoded]
}

// decoded is a definition, or the error if it is invalid.
type decoded struct {
	definition *action.Definition
	err        error
}

func newCaches(store *controldb.Store, m *metrics.Agent) *caches {
	c := &caches{store: store}
	c.commands.Most, c.payloads.Most, c.definitions.Most = cachedBytes, cachedBytes, cachedDefinitions
	c.commands.reads, c.payloads.reads, c.definitions.reads = m.Cache(cacheCommands), m.Cache(cacheParameters), m.Cache(cacheDefinitions)
	return c
}

// command returns the text of a command.
func (c *caches) command(ctx context.Context, id int64) (string, error) {
	return c.commands.get(ctx, id, func(ctx context.Context) (string, int, error) {
		text, err := c.store.Command(ctx, id)
		return text, len(text), err
	})
}

// parameters returns the parameters of a run.
func (c *caches) parameters(ctx context.Context, id int64) (*parameters.Parameters, error) {
	return c.payloads.get(ctx, id, func(ctx context.Context) (*parameters.Parameters, int, error) {
		text, err := c.store.Payload(ctx, id)
		if err != nil {
			return nil, 0, err
		}
		p, err := parameters.Parse(text)
		return p, 3 * len(text), err
	})
}

// definition returns the definition of a command with the given text.
func (c *caches) definition(ctx context.Context, id int64, commandType action.Type, text string) (*action.Definition, error) {
	d, err := c.definitions.get(ctx, id, func(context.Context) (decoded, int, error) {
		definition, err := action.Decode(commandType, text)
		return decoded{definition, err}, 1, nil
	})
	if err != nil {
		return nil, err
	}
	return d.definition, d.err
}
