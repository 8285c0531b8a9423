# Row resampling and penalties as R computes them. Run in this directory: Rscript rows.R
# Writes rows_r.json: the data and the numbers.

library(boot)
library(class)
library(MASS)
library(jsonlite)

cars <- mtcars[, c("mpg", "wt", "hp", "qsec", "am")]
n <- nrow(cars)

# Leave-one-out and 8 folds of least squares; cv.glm draws its folds itself, the same draw is made here again.
linear <- glm(mpg ~ wt + hp + qsec, data = cars)
set.seed(7)
folds_drawn <- rep(1:8, ceiling(n / 8))[sample.int(8 * ceiling(n / 8), n)]
set.seed(7)
kfold <- cv.glm(cars, linear, K = 8)$delta[1]
logistic <- glm(am ~ wt, data = cars, family = binomial, control = list(epsilon = 1e-14))
wrong <- function(y, p) mean(abs(y - p) > 0.5)

# Information criteria of least squares with one to three columns; the noise is that of the largest.
fits <- list(lm(mpg ~ wt, cars), lm(mpg ~ wt + hp, cars), lm(mpg ~ wt + hp + qsec, cars))
sigma2 <- summary(fits[[3]])$sigma^2

# Ridge on columns of mean 0 and variance 1 (divided by n), as lm.ridge scales them itself.
lambda <- c(0.1, 1, 10, 100)
ridge <- lm.ridge(mpg ~ wt + hp + qsec, cars, lambda = lambda)

# Two overlapping clouds without ties in distance; odd k, so no ties in votes.
set.seed(11)
label <- rep(c(0, 1), each = 40)
cloud <- round(matrix(rnorm(80 * 3), 80) + 0.8 * label, 6)
k <- c(1, 5, 9, 15)
knn_errors <- sapply(k, function(one) mean(as.character(knn.cv(cloud, label, one)) != label))

write_json(
  list(
    cars = cars,
    loo = cv.glm(cars, linear)$delta[1],
    folds = folds_drawn,
    kfold = kfold,
    logistic_loo = cv.glm(cars, logistic, cost = wrong)$delta[1],
    logistic_kfold = {
      set.seed(7)
      cv.glm(cars, logistic, cost = wrong, K = 8)$delta[1]
    },
    rss = sapply(fits, deviance),
    aic = sapply(fits, AIC),
    bic = sapply(fits, BIC),
    cp = sapply(fits, function(fit) extractAIC(fit, scale = sigma2)[2]),
    sigma2 = sigma2,
    lambda = lambda,
    ridge_gcv = unname(ridge$GCV),
    cloud = cloud,
    label = label,
    k = k,
    knn_errors = knn_errors
  ),
  "rows_r.json",
  digits = 17, auto_unbox = TRUE, pretty = FALSE
)
