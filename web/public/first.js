// Before anything is drawn: the theme and the language that were chosen here.
(function () {
  var root = document.documentElement;
  var read = function (name) {
    try {
      return localStorage.getItem(name);
    } catch {
      return null;
    }
  };
  var theme = read('haft.theme');
  if (theme === 'light' || theme === 'dark') root.dataset.theme = theme;
  var language = read('haft.language') || navigator.language || 'en';
  root.lang = language.toLowerCase().indexOf('zh') === 0 ? 'zh' : 'en';
})();
