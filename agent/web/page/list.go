package page

import "github.com/jobagent/jobagent/controldb"

// After reads the key behind which a list goes on, from the parameter that the link to the next
// page has set to its [controldb.Token]. Nil means that the list begins, also for a text that is no
// token.
func After[K any](text string) *K {
	key := new(K)
	if text == "" || controldb.ReadToken(text, key) != nil {
		return nil
	}
	return key
}
