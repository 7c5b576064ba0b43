package exec

import (
	"context"
	"fmt"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Image returns the committed content of a database.
func (i *Instance) Image(ctx context.Context, name string) (*catalog.Image, error) {
	d := i.Catalog.Snapshot().Database(name)
	if d == nil {
		return nil, fmt.Errorf("there is no database %q", name)
	}
	return i.Catalog.Image(ctx, d)
}

// CreateFrom creates a database of sa with the content of an image.
func (i *Instance) CreateFrom(ctx context.Context, name string, from *catalog.Image) error {
	_, err := i.Catalog.CreateFrom(ctx, name, catalog.SAID, from, types.RoundDateTime(i.Ticks()))
	return err
}
