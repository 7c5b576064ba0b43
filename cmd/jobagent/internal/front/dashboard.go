package front

import (
	"fmt"
	"net/url"
	"strings"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/rest/auth"
	"github.com/jobagent/jobagent/agent/web"
	"github.com/jobagent/jobagent/agent/web/session"
)

// dashboard makes the dashboard.
func (f *Front) dashboard(callers *auth.Auth) (*web.Server, error) {
	u, err := url.Parse(f.publicURL)
	if err != nil {
		return nil, fmt.Errorf("invalid public URL: %w", err)
	}
	log := f.log.With(zap.String("service", "web"))
	sessions, err := session.New(session.Config{
		Authenticator: callers, Path: strings.TrimSuffix(u.Path, "/") + web.Path, Secure: u.Scheme == "https", Log: log,
	})
	if err != nil {
		return nil, err
	}
	return web.New(web.Config{
		Sets: web.Sets(), Directory: f.directory, Sessions: sessions, Authorizer: callers, PublicURL: f.publicURL, Log: log,
	})
}
