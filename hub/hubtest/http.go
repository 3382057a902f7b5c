package hubtest

import "net/http"

// HTTPClient sends the requests of tests. http.DefaultClient is no substitute:
// whenever an httptest.Server closes, it closes the idle connections of
// http.DefaultTransport, and a POST that another test of the process is just
// writing to one of them fails.
var HTTPClient = &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
