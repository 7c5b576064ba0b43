package callbacks

import (
	"net/http"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/internal/callback"
	"github.com/jobagent/jobagent/controldb"
)

// PathPrefix begins the paths of callbacks below the public URL.
const PathPrefix = callback.PathPrefix

// NewHandler returns the handler of callbacks for a front, at /callbacks/. A token is looked up in
// one control database after the other.
func NewHandler(stores []*controldb.Store, log *zap.Logger) http.Handler {
	return newHandler(stores, "", log.With(zap.String("service", "callbacks")))
}
