// The entry of the theatre's address: the whole page, or with ?embed one moment of a recording for an iframe.
if (new URLSearchParams(location.search).has('embed')) await import('./embed.js');
else await import('./page.js');

export {};
