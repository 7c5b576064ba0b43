package contexts

import "context"

// Ask calls the keyring within the limit.
func Ask(s Secrets, ctx context.Context, call func() (string, error)) (string, error) { //nolint:revive // as the method
	return s.ask(ctx, call)
}
