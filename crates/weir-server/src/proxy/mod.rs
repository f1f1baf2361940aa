//! Requests that are answered by backends: waiting at their gates, calling them, passing answers on.
//! It knows neither how clients are read nor how bytes reach them.
