package front

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/rest/auth"
	"github.com/jobagent/jobagent/agent/web"
	"github.com/jobagent/jobagent/agent/web/session"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/targets/secretref"
)

func (f *Front) dashboard(o Options, callers *auth.Auth) (*web.Server, error) {
	u, err := url.Parse(f.publicURL)
	if err != nil {
		return nil, fmt.Errorf("invalid public URL: %w", err)
	}
	var key []byte
	if o.Config.Web.SessionKey != "" {
		text, err := secretref.Read(o.Config.Web.SessionKey)
		if err != nil {
			return nil, exit.Usagef("rest.web.session_key: %w", err)
		}
		key = []byte(text)
	}
	log := f.root.With(zap.String("service", "web"))
	sessions, err := session.New(session.Config{
		Authenticator: callers, Logins: callers.Logins(), CallbackURL: f.publicURL + web.CallbackPath,
		Key: key, Idle: time.Duration(o.Config.Web.Idle), Lifetime: time.Duration(o.Config.Web.Lifetime),
		Path: strings.TrimSuffix(u.Path, "/") + web.Path, Secure: u.Scheme == "https", Log: log,
	})
	if err != nil {
		return nil, exit.Usagef("rest.web: %w", err)
	}
	f.sessions = sessions
	return web.New(web.Config{
		Sets: web.Sets(), Directory: f.directory, Sessions: sessions, Authorizer: callers, PublicURL: f.publicURL,
		SignInHelp: o.SignInHelp, SignedIn: o.Metrics.Web().SignedIn, Log: log,
	})
}
