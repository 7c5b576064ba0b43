package scheduler

import (
	"encoding/json"
	"strings"
)

// merged returns a JSON object with the members of patch in it: objects are merged, all else
// is replaced. A null stays, so that what reads the result can tell it from absence; it reads null
// as absence. Names are matched without regard to case, as those of the API are.
func merged(old, patch []byte) ([]byte, error) {
	var into, from any
	if err := decodeObject(old, &into); err != nil {
		return nil, err
	}
	if err := decodeObject(patch, &from); err != nil {
		return nil, err
	}
	return json.Marshal(mergedValue(into, from))
}

func mergedValue(old, patch any) any {
	from, ok := patch.(map[string]any)
	into, was := old.(map[string]any)
	if !ok || !was {
		return patch
	}
	spelling := make(map[string]string, len(into))
	for name := range into {
		spelling[strings.ToLower(name)] = name
	}
	for name, value := range from {
		if known, there := spelling[strings.ToLower(name)]; there {
			name = known
		}
		into[name] = mergedValue(into[name], value)
	}
	return into
}
