package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/jobagent/jobagent/controldb"
)

// EventFragment replaces an element: {"id": …, "html": …}.
const EventFragment = "fragment"

// Fragments returns a source of blocks of a page. Each block is a named template of the set; it
// renders one element whose id is the block's name. The page renders the same templates, with data
// of the same type as dot.Data, and sets View.Topic. Only blocks that changed are sent, so a block
// shows times as <time> elements and no ages.
func Fragments(set string, read func(ctx context.Context, store *controldb.Store) (any, error), blocks ...string) Source {
	return &fragments{set: set, read: read, blocks: blocks, last: make([][]byte, len(blocks))}
}

// fragments implements Source.
type fragments struct {
	set    string
	read   func(context.Context, *controldb.Store) (any, error)
	blocks []string
	last   [][]byte // the HTML of each block
}

// Next implements Source.
func (f *fragments) Next(ctx context.Context, store *controldb.Store) ([]Event, error) {
	data, err := f.read(ctx, store)
	if err != nil {
		return nil, err
	}
	var events []Event
	for i, block := range f.blocks {
		html, err := Render(ctx, f.set, block, data)
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(html, f.last[i]) {
			f.last[i] = html
			events = append(events, f.event(i))
		}
	}
	return events, nil
}

// Snapshot implements Source.
func (f *fragments) Snapshot() []Event {
	var events []Event
	for i := range f.blocks {
		if f.last[i] != nil {
			events = append(events, f.event(i))
		}
	}
	return events
}

// event returns the event of a block.
func (f *fragments) event(i int) Event { return Fragment(f.blocks[i], f.last[i]) }

// Fragment returns the event that replaces the element with an id.
func Fragment(id string, html []byte) Event {
	e, err := JSON(EventFragment, map[string]string{"id": id, "html": string(html)})
	if err != nil {
		panic(err) // strings can be encoded
	}
	return e
}

// rendering is what Render needs of a feed.
type rendering struct {
	render Renderer
	base   string
}

type renderingKey struct{}

func withRendering(ctx context.Context, r Renderer, base string) context.Context {
	return context.WithValue(ctx, renderingKey{}, rendering{r, base})
}

// Render renders a block of a set. ctx is that of [Source].Next.
func Render(ctx context.Context, set, block string, data any) ([]byte, error) {
	r, ok := ctx.Value(renderingKey{}).(rendering)
	if !ok || r.render == nil {
		return nil, errors.New("the hub has no renderer")
	}
	var b bytes.Buffer
	if err := r.render(&b, set, block, r.base, data); err != nil {
		return nil, fmt.Errorf("render %s of %s: %w", block, set, err)
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// Base returns the path of the control database's pages. ctx is that of [Source].Next.
func Base(ctx context.Context) string {
	r, _ := ctx.Value(renderingKey{}).(rendering)
	return r.base
}
