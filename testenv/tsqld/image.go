package tsqld

import (
	"context"
	"errors"
	"fmt"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
)

// Image is the committed content of a database with its options. It is immutable, so several
// servers can create databases from it. T-SQL has BACKUP and RESTORE for this, which the server
// refuses.
type Image struct{ *catalog.Image }

// errNoImages reports a server without databases.
var errNoImages = errors.New("the server has no databases of its own")

// Image returns the content of a database.
func (s *Server) Image(ctx context.Context, database string) (Image, error) {
	in, ok := s.engine.(instance)
	if !ok {
		return Image{}, errNoImages
	}
	image, err := in.Instance.Image(ctx, database)
	if err != nil {
		return Image{}, fmt.Errorf("copy database %s: %w", database, err)
	}
	return Image{image}, nil
}

// CreateFrom creates a database of the login sa with the content of an image.
func (s *Server) CreateFrom(ctx context.Context, database string, from Image) error {
	in, ok := s.engine.(instance)
	if !ok {
		return errNoImages
	}
	if err := in.Instance.CreateFrom(ctx, database, from.Image); err != nil {
		return fmt.Errorf("create database %s: %w", database, err)
	}
	return nil
}
